"""The state in Kafka's own topics as rows: the facts at a moment, or the differences between two moments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kidx.errors import UsageError
from kidx.exit_status import UNREADABLE
from kidx.logdir.tree import Partition
from kidx.state.facts import Fact, identity, order
from kidx.state.internal_topics import Lag, LogDirs, Question
from kidx.state.replay import Moment, State
from kidx.tables.table import TEXT, TIMESTAMP, TREE, Column, Notes, Table
from kidx.text.quantities import timestamp_ms, whole_number

_FACT_COLUMNS = (
    Column("kind", TEXT),
    Column("key", TREE),
    Column("value", TREE),
    Column("offset"),
    Column("timestamp", TIMESTAMP, "ms"),
    Column("directory", TEXT),
    Column("log_start_offset"),
    Column("log_end_offset"),
    Column("lag", unit="offsets"),
    Column("out_of_range", TEXT),
)
_DIFFERENCE_COLUMNS = (
    Column("kind", TEXT),
    Column("key", TREE),
    Column("change", TEXT),
    Column("before", TREE),
    Column("after", TREE),
    Column("offset"),
    Column("timestamp", TIMESTAMP, "ms"),
)
_UNORDERED = ("features", "endPoints", "logDirs", "cordonedLogDirs", "isr", "eligibleLeaderReplicas", "lastKnownElr")
DroppedBy = Callable[[str, dict[str, Any]], tuple[int | None, int | None]]
_OFFSET_DIGITS = 12  # a bare number this long is epoch milliseconds, not an offset


def parse_moment(text: str | None, *, several: bool = False) -> Moment:
    """A moment from an offset or a time (ISO 8601, or `time:` and epoch ms); None: the log's end. Raises UsageError.

    With `several` partitions an offset is refused: each partition counts its own.
    """
    if text is None:
        return Moment()
    if text.startswith("time:"):
        return Moment(timestamp_ms=timestamp_ms(text.removeprefix("time:")))
    digits = text.removeprefix("offset:")
    if digits.isascii() and digits.isdigit():
        if digits == text and len(digits) > _OFFSET_DIGITS:
            raise UsageError(f"{text}: an offset or a time? write offset:{text} or time:{text}")
        if several:
            raise UsageError(f"{text}: several partitions are read, and each has its own offsets; give a time")
        return Moment(offset=whole_number(digits, "an offset"))
    try:
        return Moment(timestamp_ms=timestamp_ms(text))
    except UsageError:
        raise UsageError(
            f"{text!r} is not a moment: give an offset or an ISO 8601 time (2026-01-31T12:00:00Z)"
        ) from None


class Replayed(NamedTuple):
    """A partition's state at a moment."""

    partition: Partition
    state: State


def fact_table(found: Iterable[Replayed], log_dirs: LogDirs, question: Question, kinds: Sequence[str] = ()) -> Table:
    """kidx.state.v1: a row a fact that `question` wants, of `kinds` or of all, by kind and key.

    A committed offset has its log's bounds, if the log is in one of `log_dirs`, and how far it is behind.
    """
    replayed = list(found)
    facts = [(fact, r.partition) for r in replayed for fact in _wanted(r.state, log_dirs, question, kinds)]
    rows = [
        (*fact, partition.directory, *(log_dirs.lag(fact) or (None,) * len(Lag._fields)))
        for fact, partition in sorted(facts, key=lambda found: order(found[0]))
    ]
    return Table("kidx.state.v1", _FACT_COLUMNS, rows, _summary(replayed, facts=len(rows)), notes=_notes(replayed))


def difference_table(
    before: Sequence[Replayed],
    after: Sequence[Replayed],
    log_dirs: LogDirs,
    question: Question,
    kinds: Sequence[str] = (),
) -> Table:
    """kidx.state_difference.v1: a row a fact that was added, removed or changed between two states of each partition.

    Its offset and timestamp are those of the record that last changed or removed it. The order of lists that have none
    (brokers' features, listeners and log dirs, in-sync replicas) is no difference.
    """
    rows: list[tuple[Any, ...]] = []
    for old, new in zip(before, after, strict=True):
        facts = [_wanted(side.state, log_dirs, question, kinds) for side in (old, new)]
        rows += _differences(facts[0], facts[1], new.state.facts.dropped_by)
    rows.sort(key=lambda row: str(row[0]))
    summary = _summary(after, differences=len(rows))
    return Table("kidx.state_difference.v1", _DIFFERENCE_COLUMNS, rows, summary, notes=_notes([*before, *after]))


def _summary(replayed: Sequence[Replayed], **counts: int) -> dict[str, Any]:
    directories = [r.partition.directory for r in replayed]
    problems = [problem for r in replayed for problem in r.state.problems]
    return {
        "partition": directories[0] if len(directories) == 1 else None,
        "partitions": directories,
        "records": sum(r.state.records for r in replayed),
        **counts,
        "problems": problems,
    }


def _notes(replayed: Sequence[Replayed]) -> Notes:
    notes = Notes()
    for problem in dict.fromkeys(problem for r in replayed for problem in r.state.problems):
        notes.add(problem, UNREADABLE)
    return notes


def _wanted(state: State, log_dirs: LogDirs, question: Question, kinds: Sequence[str]) -> list[Fact]:
    facts = (log_dirs.named(fact) for fact in state.facts.sorted() if not kinds or fact.kind in kinds)
    return [fact for fact in facts if question.wants(fact)]


def _differences(before: list[Fact], after: list[Fact], dropped_by: DroppedBy) -> Iterator[tuple[Any, ...]]:
    old = {(fact.kind, identity(fact.key)): fact for fact in before}
    new = {(fact.kind, identity(fact.key)): fact for fact in after}
    for either in sorted((old | new).values(), key=order):
        which = (either.kind, identity(either.key))
        was, now = old.get(which), new.get(which)
        if was is not None and now is not None and _unordered(was.value) == _unordered(now.value):
            continue
        change = "added" if was is None else "removed" if now is None else "changed"
        by = dropped_by(either.kind, either.key) if now is None else (now.offset, now.timestamp)
        yield (either.kind, either.key, change, was and was.value, now and now.value, *by)


def _unordered(value: dict[str, Any]) -> dict[str, Any]:
    """A value whose lists without an order are sorted."""
    return {name: sorted(item, key=str) if name in _UNORDERED and item else item for name, item in value.items()}
