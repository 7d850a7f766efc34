"""What the options of `kidx export` ask for, as arguments of kidx.export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kidx import exit_status
from kidx.errors import UsageError
from kidx.report.printing import complain

if TYPE_CHECKING:
    from kidx.export.coverage import Coverage
    from kidx.export.reading import Asked, Bounds
    from kidx.export.rows import Form
    from kidx.export.sources import Wanted

_SHOWN_PROBLEMS = 20


def form_of(given: Mapping[str, Any]) -> Form:
    """The form of the output."""
    from kidx.export.rows import Form

    columns = given["columns"]
    names = tuple(name.strip() for name in columns.split(",")) if columns else None
    registry = None
    if given["schemas"] is not None:
        from kidx.export.schema_registry import read_registry

        registry = read_registry(given["schemas"])
    return Form(given["form"], names, given["encoding"], given["file_bytes"], registry)


def wanted_from(given: Mapping[str, Any]) -> Wanted:
    """Which topics, partitions and files are wanted."""
    from kidx.export.sources import Wanted

    topics, partitions = set(given["topics"]) or None, set(given["partitions"]) or None
    return Wanted(topics, partitions, given["deleted"])


def asked_for(given: Mapping[str, Any]) -> Asked:
    """Which records are wanted. Raises UsageError for a bound that is neither an offset nor a time."""
    from kidx.export.reading import Asked
    from kidx.segments.sought_key import sought_key

    offsets, times = _bounds(given)
    return Asked(
        offsets,
        times,
        sought_key(given["key"], given["key_sha256"]),
        given["producer_id"],
        given["isolation"] == "read_committed",
        given["control"],
        given["damaged"],
    )


def _bounds(given: Mapping[str, Any]) -> tuple[Bounds, Bounds]:
    from kidx.tables.selection import parse_bound

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


def print_outcome(done: Sequence[Coverage], unread: Sequence[str]) -> int:
    """Say on stderr what was not exported; the exit status."""
    sentences = [*unread, *(sentence for coverage in done for sentence in coverage.sentences())]
    for sentence in sentences[:_SHOWN_PROBLEMS]:
        complain(sentence)
    if len(sentences) > _SHOWN_PROBLEMS:
        complain(f"{len(sentences) - _SHOWN_PROBLEMS} more such messages; --manifest FILE has all of them")
    status = max((coverage.status for coverage in done), default=exit_status.CLEAN)
    return exit_status.UNREADABLE if unread else status
