"""Java's behaviour that shows in the text of DumpLogSegments: integers that wrap, text from bytes, paths, hash maps."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from kidx.formats.text import JAVA
from kidx.text.java import string_hash

MAX_INT = 2**31 - 1


def as_int(value: int) -> int:
    """A number as Java's int arithmetic wraps it."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def sequence_after(sequence: int, increment: int) -> int:
    """DefaultRecordBatch.incrementSequence, -1 where there is no sequence (the callers' rule)."""
    if sequence == -1:
        return -1
    if sequence > as_int(MAX_INT - increment):
        return as_int(increment - (MAX_INT - sequence) - 1)
    return as_int(sequence + increment)


def sequence_before(sequence: int, decrement: int) -> int:
    """DefaultRecordBatch.decrementSequence."""
    if sequence < decrement:
        return as_int(MAX_INT - (decrement - sequence) + 1)
    return as_int(sequence - decrement)


def text(data: bytes) -> str:
    """Bytes as `new String(bytes, UTF_8)` reads them: as Python, but an encoded surrogate is one bad character."""
    return data.decode("utf-8", JAVA)


def path_text(path: str) -> str:
    """A path as java.io.File prints it: slashes once, none at the end."""
    short = re.sub("/+", "/", path)
    return short if short == "/" else short.rstrip("/")


def absolute(path: str) -> str:
    """File.getAbsolutePath of a path's text: `.` and `..` stay."""
    return path if path.startswith("/") else path_text(f"{os.getcwd()}/{path}")


def hash_map_order(keys: Iterable[str]) -> list[str]:
    """The order in which a java.util.HashMap gives the keys that computeIfAbsent put into it one after another.

    A new key goes before the others of its bucket; the table of 16 buckets doubles when it is three quarters full. More
    than eight keys in a bucket become a tree, whose order is not followed here: names of files do not collide so.
    """
    table: list[list[str]] = [[] for _ in range(16)]
    for size, key in enumerate(dict.fromkeys(keys)):
        if size > len(table) * 3 // 4:
            table = _twice_as_large(table)
        bucket = _bucket(key, table)
        bucket.insert(0, key)
        if len(bucket) > 8 and len(table) < 64:
            table = _twice_as_large(table)
    return [key for bucket in table for key in bucket]


def _twice_as_large(table: list[list[str]]) -> list[list[str]]:
    larger: list[list[str]] = [[] for _ in range(2 * len(table))]
    for bucket in table:
        for key in bucket:
            _bucket(key, larger).append(key)
    return larger


def _bucket(key: str, table: list[list[str]]) -> list[str]:
    value = string_hash(key) & 0xFFFFFFFF
    return table[(value ^ value >> 16) % len(table)]
