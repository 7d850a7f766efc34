"""The digests that log.cleaner's offset map may use, by the names Java's MessageDigest gives them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from kidx.cleaner.md2 import md2
from kidx.errors import UsageError


class Digest(NamedTuple):
    """`size` is bytes a digest; `many` joins the digests of many keys into one bytes object."""

    name: str
    size: int
    one: Callable[[bytes], bytes]
    many: Callable[[Iterable[bytes]], bytes]


_HASHLIB = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
NAMES = ("MD2", *_HASHLIB)


def digest_named(name: str) -> Digest:
    """The digest of that name. Raises UsageError for a name that is none of NAMES."""
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
