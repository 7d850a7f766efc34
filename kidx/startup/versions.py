"""What brokers of different versions do differently at a start. Every value was seen in a run of that version."""

from __future__ import annotations

from typing import NamedTuple

from kidx.errors import UsageError


class BrokerVersion(NamedTuple):
    """One version's behaviour.

    kraft                   metadata in __cluster_metadata, meta.properties required; else ZooKeeper
    finds_strays            partitions that the metadata does not know become -stray; the name -stray is known
    malformed_is_io_error   a malformed line of a checkpoint fails the log dir; else the file counts as absent
    swap_replaces_by_range  a .swap deletes the files of its offset range and is renamed, unread; else it is recovered
    """

    name: str
    kraft: bool = True
    finds_strays: bool = True
    malformed_is_io_error: bool = False
    swap_replaces_by_range: bool = True


VERSIONS = (
    BrokerVersion("2.8.2", kraft=False, finds_strays=False, malformed_is_io_error=True, swap_replaces_by_range=False),
    BrokerVersion("3.9.1"),
    BrokerVersion("4.3.1"),
)
LATEST = VERSIONS[-1]


def nearest_version(text: str) -> BrokerVersion:
    """The known version nearest to one such as 3.7.0: of the same major version where there is one.

    Raises UsageError where the text is no version.
    """
    asked = _numbers(text)
    if asked is None:
        raise UsageError(f"{text!r} is no version of Kafka; write it as 4.3.1")
    return min(VERSIONS, key=lambda known: _distance(_numbers(known.name) or (), asked))


def _numbers(text: str) -> tuple[int, ...] | None:
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(p.isascii() and p.isdigit() and len(p) < 6 for p in parts):
        return None
    return tuple(map(int, parts))


def _distance(known: tuple[int, ...], asked: tuple[int, ...]) -> tuple[int, ...]:
    width = max(len(known), len(asked))
    pairs = zip(known + (0,) * (width - len(known)), asked + (0,) * (width - len(asked)), strict=True)
    return tuple(abs(a - b) for a, b in pairs)
