"""The digests that log.cleaner's offset map may use, by the names Java's MessageDigest gives them.

hashlib has all of them but MD2 (RFC 1319).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from kidx.errors import UsageError


class Digest(NamedTuple):
    """`size` is the bytes of a digest; `many` joins the digests of many keys into one bytes object."""

    name: str
    size: int
    one: Callable[[bytes], bytes]
    many: Callable[[Iterable[bytes]], bytes]


_HASHLIB = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
NAMES = ("MD2", *_HASHLIB)


def digest_named(name: str) -> Digest:
    """The digest of that name. Raises UsageError for a name that is not in NAMES."""
    wanted = name.upper()
    if wanted == "MD2":
        return Digest("MD2", 16, md2, lambda keys: b"".join(map(md2, keys)))
    if wanted not in _HASHLIB:
        raise UsageError(f"digest {name}: unknown; the cleaner's digests are {', '.join(NAMES)}")
    make = _constructor(_HASHLIB[wanted])

    def many(keys: Iterable[bytes]) -> bytes:
        return b"".join([make(key).digest() for key in keys])

    return Digest(wanted, len(make(b"").digest()), lambda key: bytes(make(key).digest()), many)


def _constructor(name: str) -> Callable[[bytes], Any]:
    make: Callable[..., Any] = getattr(hashlib, name)
    try:
        make(b"")
    except ValueError:  # a FIPS system refuses MD5 for security; here it only spreads keys over slots
        return partial(make, usedforsecurity=False)
    return make


_PI_SUBSTITUTION = bytes.fromhex(  # a permutation of 0..255 made from the digits of pi
    "292e43c9a2d87c013d3654a1ecf0061362a705f3c0c7738c98932bd9bc4c82ca1e9b573cfdd4e01667426f188a17e512"
    "be4ec4d6da9ede49a0fbf58ebb2fee7aa968799115b2073f94c210890b225f21807f5d9a5a903227353ecce7bff79703"
    "ff1930b348a5b5d1d75e922aac56aac64fb838d296a47db676fc6be29c7404f1459d705964718720865bcf65e62da802"
    "1b6025adaeb0b9f61c46616934407e0f5547a323dd51af3ac35cf9cebac5ea262c530d6e85288409d3dfcdf441814d52"
    "6adc37c86cc1abfa24e17b080cbdb14a7888958be363e86de9cbd5fe3b001d39f2efb70e6658d0e4a67772f8eb754b0a"
    "314450b48fed1f1adb998d339f118314"
)
_BLOCK = 16  # bytes
_ROUNDS = 18


def md2(message: bytes) -> bytes:
    """The 16-byte MD2 digest of a message."""
    table = _PI_SUBSTITUTION
    padding = _BLOCK - len(message) % _BLOCK
    padded = message + bytes([padding]) * padding
    padded += _checksum(padded)
    state = bytearray(3 * _BLOCK)
    for start in range(0, len(padded), _BLOCK):
        block = padded[start : start + _BLOCK]
        state[_BLOCK : 2 * _BLOCK] = block
        state[2 * _BLOCK :] = bytes(a ^ b for a, b in zip(block, state, strict=False))
        carry = 0
        for round_number in range(_ROUNDS):
            for i, byte in enumerate(state):
                carry = state[i] = byte ^ table[carry]
            carry = (carry + round_number) % 256
    return bytes(state[:_BLOCK])


def _checksum(padded: bytes) -> bytes:
    """RFC 1319, 3.2; byte i of the checksum is XORed, as the RFC's errata and every implementation have it."""
    checksum, last = bytearray(_BLOCK), 0
    for at, byte in enumerate(padded):
        checksum[at % _BLOCK] ^= _PI_SUBSTITUTION[byte ^ last]
        last = checksum[at % _BLOCK]
    return bytes(checksum)
