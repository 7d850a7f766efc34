"""Decoded records as lines for people: the kind, what it is about, an arrow, and what is said of it."""

from __future__ import annotations

import json
import re
from typing import Any

_BARE = re.compile(r"[^\s\"=,{}\[\]]+")  # text that needs no quotes


def record_text(key: dict[str, Any] | None, value: dict[str, Any] | None, problem: str | None) -> str:
    """A record on one line, from the trees of its row.

    `OffsetCommit group=a topic=t partition=0 -> v3 offset=12 metadata=""`; a tombstone has `-> tombstone`. Records
    whose key only names the kind have no arrow: `TopicRecord v0 name=t topicId=...`.
    """
    about = _fields(key["data"]) if key and key["data"] else []
    if problem is not None:
        raw = [f"{name}={part['bytes']}" for name, part in (("key", key), ("value", value)) if part and "bytes" in part]
        return " ".join([_kind(key, value), *about, "undecoded:", problem, *raw]).strip()
    if value is None:
        return " ".join([_kind(key, value), *about, "->", "tombstone"])
    version = [] if value["version"] is None else [f"v{value['version']}"]
    said = [*version, *_fields(value["data"] or {})]
    return " ".join([_kind(key, value), *about, *(["->"] if about else []), *said])


def _kind(key: dict[str, Any] | None, value: dict[str, Any] | None) -> str:
    for part in (key, value):
        if part and part.get("name"):
            return str(part["name"])
    return ""


def _fields(data: dict[str, Any]) -> list[str]:
    return [f"{name}={_text(value)}" for name, value in data.items()]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value if _BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + " ".join(_fields(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return json.dumps(value)
