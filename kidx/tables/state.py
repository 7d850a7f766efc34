"""The state in Kafka's own topics as rows: the facts at a moment, or the differences between two moments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kidx.errors import UsageError
from kidx.exit_status import UNREADABLE
from kidx.state.facts import Fact, identity, order
from kidx.state.replay import Moment, State
from kidx.tables.table import TEXT, TIMESTAMP, TREE, Column, Notes, Table
from kidx.text.quantities import timestamp_ms, whole_number

_FACT_COLUMNS = (
    Column("kind", TEXT),
    Column("key", TREE),
    Column("value", TREE),
    Column("offset"),
    Column("timestamp", TIMESTAMP, "ms"),
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
_OFFSET_DIGITS = 12  # a bare number this long is epoch milliseconds, not an offset


def parse_moment(text: str | None) -> Moment:
    """A moment from an offset or a time (ISO 8601, or `time:` and epoch ms); None: the log's end. Raises UsageError."""
    if text is None:
        return Moment()
    if text.startswith("time:"):
        return Moment(timestamp_ms=timestamp_ms(text.removeprefix("time:")))
    digits = text.removeprefix("offset:")
    if digits.isascii() and digits.isdigit():
        if digits == text and len(digits) > _OFFSET_DIGITS:
            raise UsageError(f"{text}: an offset or a time? write offset:{text} or time:{text}")
        return Moment(offset=whole_number(digits, "an offset"))
    try:
        return Moment(timestamp_ms=timestamp_ms(text))
    except UsageError:
        raise UsageError(
            f"{text!r} is not a moment: give an offset or an ISO 8601 time (2026-01-31T12:00:00Z)"
        ) from None


def fact_table(path: str, state: State, kinds: Sequence[str] = ()) -> Table:
    """kidx.state.v1: a row a fact of a state, of `kinds` or of all. `path` is the partition's directory."""
    facts = _wanted(state.facts.sorted(), kinds)
    summary = {"partition": path, "records": state.records, "facts": len(facts), "problems": state.problems}
    return Table("kidx.state.v1", _FACT_COLUMNS, facts, summary, notes=_notes(state))


def difference_table(path: str, before: State, after: State, kinds: Sequence[str] = ()) -> Table:
    """kidx.state_difference.v1: a row a fact that was added, removed or changed between two states.

    Its offset and timestamp are those of the record that changed it, absent if the fact was removed.
    """
    rows = list(_differences(_wanted(before.facts.sorted(), kinds), _wanted(after.facts.sorted(), kinds)))
    summary = {"partition": path, "records": after.records, "differences": len(rows), "problems": after.problems}
    return Table("kidx.state_difference.v1", _DIFFERENCE_COLUMNS, rows, summary, notes=_notes(before, after))


def _notes(*states: State) -> Notes:
    notes = Notes()
    for problem in dict.fromkeys(problem for state in states for problem in state.problems):
        notes.add(problem, UNREADABLE)
    return notes


def _wanted(facts: list[Fact], kinds: Sequence[str]) -> list[Fact]:
    return [fact for fact in facts if not kinds or fact.kind in kinds]


def _differences(before: list[Fact], after: list[Fact]) -> Iterator[tuple[Any, ...]]:
    old = {(fact.kind, identity(fact.key)): fact for fact in before}
    new = {(fact.kind, identity(fact.key)): fact for fact in after}
    for either in sorted((old | new).values(), key=order):
        which = (either.kind, identity(either.key))
        was, now = old.get(which), new.get(which)
        if was is not None and now is not None and was.value == now.value:
            continue
        change = "added" if was is None else "removed" if now is None else "changed"
        by = (None, None) if now is None else (now.offset, now.timestamp)  # nothing is kept of what removed a fact
        yield (either.kind, either.key, change, was and was.value, now and now.value, *by)
