"""What differs between two replicas' logs: batch by batch, across segments, whose borders are each replica's own."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

from kidx.checks.batch_stream import BatchRow, BatchStream
from kidx.checks.compared import Sides
from kidx.formats.records import Record


def compare_logs(sides: Sides) -> None:
    """Note what differs between the two sides' logs."""
    bases = [[s.base_offset for s in p.segments] for p in (sides.left, sides.right)]
    if not bases[0] or not bases[1]:  # rebuilt indexes in a directory of their own
        sides.done.note("logs", sides.where(), len(bases[0]), len(bases[1]), allowed=True)
        return
    if bases[0] != bases[1]:
        sides.done.note("segments", sides.where(), bases[0], bases[1], allowed=True)
    left, right = (BatchStream(p, sides.done.checked) for p in (sides.left, sides.right))
    alone: list[_Alone] = []
    while True:
        left.skip_equal(right)
        a, b = left.head(), right.head()
        if a is not None and (b is None or a.batch.last_offset < b.batch.base_offset):
            _extend(alone, "left", a)
            left.advance()
        elif b is not None and (a is None or b.batch.last_offset < a.batch.base_offset):
            _extend(alone, "right", b)
            right.advance()
        elif a is None or b is None:
            break
        else:
            _compare_batches(sides, a, b, left, right)
            if a.batch.last_offset <= b.batch.last_offset:
                left.advance()
            if b.batch.last_offset <= a.batch.last_offset:
                right.advance()
    for run in alone:
        _note_alone(sides, run, right if run.side == "left" else left)


def _note_alone(sides: Sides, run: _Alone, other: BatchStream) -> None:
    """Batches of one side: allowed before the other's start, after its end, or where that one was compacted."""
    if other.first_offset is None or run.last_offset < other.first_offset:
        what, allowed = "log_start", True
    elif run.first_offset > other.last_offset:
        what, allowed = "log_end", True
    else:
        what, allowed = "batches", other.compacted
    counts = (run.batches, 0) if run.side == "left" else (0, run.batches)
    where = sides.where(f"offsets {run.first_offset}-{run.last_offset}")
    sides.done.note(what, where, *counts, allowed=allowed)


def _compare_batches(sides: Sides, a: BatchRow, b: BatchRow, left: BatchStream, right: BatchStream) -> None:
    """Two batches that share offsets and are not the same."""
    where = sides.where(f"offset {max(a.batch.base_offset, b.batch.base_offset)}")
    if a.batch.leader_epoch != b.batch.leader_epoch:
        sides.done.note("leader_epoch", where, a.batch.leader_epoch, b.batch.leader_epoch, allowed=False)
    if a.content == b.content and a.crc_ok:
        return
    mine, others = a.records(), b.records()
    if mine is None or others is None:
        sides.done.note("batch", where, a.shown(), b.shown(), allowed=False)
        return
    differ = sorted(o for o in mine.keys() & others.keys() if mine[o][:5] != others[o][:5])
    for offset in differ:
        sides.done.note(
            "record", sides.where(f"offset {offset}"), _shown(mine[offset]), _shown(others[offset]), allowed=False
        )
    if differ:
        return
    if mine.keys() == others.keys():
        sides.done.note("batch_encoding", where, a.shown(), b.shown(), allowed=True)
        return
    # the side that lacks records must be the one that a cleaner has been at
    fine = (not others.keys() - mine.keys() or left.compacted) and (not mine.keys() - others.keys() or right.compacted)
    sides.done.note("batch_records", where, a.shown(), b.shown(), allowed=fine)


class _Alone(NamedTuple):
    """A run of neighbouring batches that one side has and the other has not; `number` is the last one's."""

    side: str
    first_offset: int
    last_offset: int
    number: int
    batches: int


def _extend(alone: list[_Alone], side: str, row: BatchRow) -> None:
    """Add a batch to the last run, if it is that side's next one, or begin another."""
    for at in range(len(alone) - 1, max(-1, len(alone) - 3), -1):
        if alone[at].side == side and alone[at].number == row.number - 1:
            alone[at] = alone[at]._replace(
                last_offset=row.batch.last_offset, number=row.number, batches=alone[at].batches + 1
            )
            return
    alone.append(_Alone(side, row.batch.base_offset, row.batch.last_offset, row.number, 1))


def _shown(record: Record) -> dict[str, Any]:
    """A record as a difference shows it: lengths, not contents, which may be nobody's business."""
    return {
        "timestamp": record.timestamp,
        "key_length": None if record.key is None else len(record.key),
        "value_length": None if record.value is None else len(record.value),
        "headers": len(record.headers),
        "digest": sha256(repr((record.key, record.value, record.headers)).encode()).hexdigest()[:16],
    }
