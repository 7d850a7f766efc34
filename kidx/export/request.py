"""An export as the options of `kidx export` describe it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kidx.errors import UsageError
from kidx.export.reading import Asked, Bounds
from kidx.export.rows import Form
from kidx.export.sources import Wanted
from kidx.tables.selection import parse_bound


def form_of(given: Mapping[str, Any]) -> Form:
    """The form of the output."""
    columns = given["columns"]
    names = tuple(name.strip() for name in columns.split(",")) if columns else None
    return Form(given["form"], names, given["encoding"], given["file_bytes"])


def wanted_from(given: Mapping[str, Any]) -> Wanted:
    """Which topics, partitions and files are wanted."""
    return Wanted(set(given["topics"]) or None, set(given["partitions"]) or None, given["deleted"])


def asked_for(given: Mapping[str, Any]) -> Asked:
    """Which records are wanted. Raises UsageError for a bound that is neither an offset nor a time."""
    offsets, times = _bounds(given)
    return Asked(
        offsets,
        times,
        None if given["key"] is None else os.fsencode(given["key"]),
        None if given["key_sha256"] is None else _digest(given["key_sha256"]),
        given["producer_id"],
        given["isolation"] == "read_committed",
        given["control"],
        given["damaged"],
    )


def _bounds(given: Mapping[str, Any]) -> tuple[Bounds, Bounds]:
    ends: dict[str, list[int | None]] = {"offset": [None, None], "timestamp": [None, None]}
    texts = [(given["low"], 0), (given["high"], 1)]
    texts += [(f"time:{text}" if text else None, end) for text, end in ((given["since"], 0), (given["until"], 1))]
    for text, end in texts:
        bound = parse_bound(text)
        if bound is None:
            continue
        field = bound.field or "offset"
        if field not in ends:
            raise UsageError(f"{text}: records are chosen by offset or timestamp, not by {field}")
        if ends[field][end] is not None:
            raise UsageError(f"{text}: there are two such bounds on the {field}; give one")
        ends[field][end] = bound.value
    return (ends["offset"][0], ends["offset"][1]), (ends["timestamp"][0], ends["timestamp"][1])


def _digest(text: str) -> bytes:
    try:
        digest = bytes.fromhex(text)
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise UsageError(f"--key-sha256 {text}: a SHA-256 has 64 hexadecimal digits")
    return digest
