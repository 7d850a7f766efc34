"""`python -m benchmarks.offset_map`: a million keys put into the offset map at once, against hashing them alone."""

from __future__ import annotations

import hashlib
import time
from statistics import median

from kidx.cleaner import OffsetMap

KEYS, MEMORY_BYTES, ROUNDS = 1_000_000, 32 << 20, 7


def main() -> None:
    import numpy  # noqa: F401  # so that its import is not measured

    for what, keys in (
        ("all different", [b"key-%d" % n for n in range(KEYS)]),
        ("each put twice", [b"key-%d" % (n % (KEYS // 2)) for n in range(KEYS)]),
    ):
        rounds = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            b"".join([hashlib.md5(key).digest() for key in keys])
            hashed = time.perf_counter()
            offset_map = OffsetMap(MEMORY_BYTES)
            begun = time.perf_counter()
            offset_map.put_many(keys, range(KEYS))
            put = time.perf_counter() - begun
            rounds.append((put / (hashed - started), put, hashed - started))
        ratio, put, hashing = (median(column) for column in zip(*rounds, strict=True))
        print(f"{KEYS:,} puts, keys {what}: {ratio:.2f}x hashing alone ({put:.3f} s, MD5 {hashing:.3f} s)")


if __name__ == "__main__":
    main()
