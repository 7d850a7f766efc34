"""A workload on brokers' indexes: appends, and readers at the tail or behind it. As text, one fact per line.

    partitions 4            # each with its own offset index
    start 6000              # entries in each when it begins
    seconds 60
    append 20               # entries a second, each partition
    log-pages 1             # pages of log that an entry stands for (index.interval.bytes 4096 is one)
    entry-bytes 8           # 8 offset index, 12 time index
    reader follower members 2 rate 10 lag 0
    reader batch-job members 1 rate 5 lag 4000 read-pages 16

A reader does `rate` look-ups per second, partition and member; each reads `read-pages` pages of log (default 1). It
starts `lag` entries behind the end, continues after what it read, and falls back as far again when it has caught up.
`#` starts a comment.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kidx.errors import UsageError


class Reader(NamedTuple):
    """`members` readers of each partition; `rate` look-ups a second each, `lag` entries behind the end."""

    name: str
    members: int = 1
    rate: float = 10.0
    lag: int = 0
    read_pages: int = 1


class Workload(NamedTuple):
    """See the module's text; `entry_bytes` is an index entry's width."""

    partitions: int = 1
    start: int = 0
    seconds: float = 60.0
    append: float = 20.0
    log_pages: int = 1
    entry_bytes: int = 8
    readers: tuple[Reader, ...] = (Reader("follower", 2), Reader("consumer", 1, 10.0, 2))


_LIMITS: dict[str, tuple[type, float, float]] = {
    "partitions": (int, 1, 100_000),
    "start": (int, 0, 1 << 28),
    "seconds": (float, 0.001, 10_000_000),
    "append": (float, 0.0, 1_000_000),
    "log-pages": (int, 0, 1_000_000),
    "entry-bytes": (int, 1, 4096),
}
_READER_LIMITS: dict[str, tuple[type, float, float]] = {
    "members": (int, 1, 100_000),
    "rate": (float, 1e-6, 1_000_000),
    "lag": (int, 0, 1 << 28),
    "read-pages": (int, 0, 1_000_000),
}
MAX_EVENTS = 50_000_000


def parse_workload(lines: Iterable[str], source: str) -> Workload:
    """A workload from its text. Raises UsageError that names the line."""
    settings: dict[str, float | int] = {}
    readers: list[Reader] = []
    for number, line in enumerate(lines, 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        where = f"{source}, line {number}"
        if words[0] == "reader":
            readers.append(_reader(words[1:], where))
        elif words[0] in _LIMITS and len(words) == 2:
            settings[words[0].replace("-", "_")] = _number(words[0], words[1], _LIMITS, where)
        elif words[0] in _LIMITS:
            raise UsageError(f"{where}: {words[0]} takes one number, as in `{words[0]} {_example(words[0])}`")
        else:
            raise UsageError(f"{where}: {words[0]!r} is unknown; known are reader, {', '.join(_LIMITS)}")
    workload = Workload(**settings)  # type: ignore[arg-type]
    if readers:
        workload = workload._replace(readers=tuple(readers))
    check_size(workload, source)
    return workload


def check_size(workload: Workload, source: str) -> None:
    """Raises UsageError for a workload of more events than a simulation may have."""
    a_second = workload.append + sum(r.members * r.rate for r in workload.readers)
    events = workload.partitions * workload.seconds * a_second
    if events > MAX_EVENTS:
        raise UsageError(
            f"{source}: {events:,.0f} appends and look-ups; at most {MAX_EVENTS:,} are simulated: "
            "take fewer seconds, partitions or lower rates"
        )


def _reader(words: list[str], where: str) -> Reader:
    if not words or len(words) % 2 == 0:
        raise UsageError(f"{where}: a reader takes a name and pairs, as in `reader follower members 2 rate 10 lag 0`")
    pairs = {}
    for name, value in zip(words[1::2], words[2::2], strict=True):
        if name not in _READER_LIMITS:
            raise UsageError(f"{where}: a reader has no {name!r}; it has {', '.join(_READER_LIMITS)}")
        pairs[name.replace("-", "_")] = _number(name, value, _READER_LIMITS, where)
    return Reader(words[0], **pairs)  # type: ignore[arg-type]


def _number(name: str, text: str, limits: dict[str, tuple[type, float, float]], where: str) -> float | int:
    kind, least, most = limits[name]
    try:
        value: float | int = kind(text)
    except ValueError:
        raise UsageError(f"{where}: {name} {text!r} is no {'whole ' if kind is int else ''}number") from None
    if not least <= value <= most:
        raise UsageError(f"{where}: {name} {text} is out of range; it takes {least:g} to {most:g}")
    return value


def _example(name: str) -> str:
    return f"{max(1.0, _LIMITS[name][1]):g}"
