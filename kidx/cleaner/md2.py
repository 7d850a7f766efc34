"""MD2 (RFC 1319), which hashlib lacks and Kafka's cleaner accepts as log.cleaner's digest."""

from __future__ import annotations

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
