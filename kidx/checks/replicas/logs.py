"""What differs between two replicas' logs, batch by batch; each replica rolls its segments at other offsets."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

from kidx.checks.replicas.batch_stream import BatchRow, BatchStream
from kidx.checks.replicas.comparison import Sides
from kidx.formats.records import Record


def compare_logs(sides: Sides) -> bool:
    """Note what differs between the two sides' logs; whether a shared offset lies at the same byte on both sides."""
    bases = [[s.base_offset for s in p.segments] for p in (sides.left, sides.right)]
    if not bases[0] or not bases[1]:  # rebuilt indexes in a separate directory
        sides.note("logs", "", len(bases[0]), len(bases[1]), allowed=True)
        return True
    if bases[0] != bases[1]:
        sides.note("segments", "", bases[0], bases[1], allowed=True)
    left, right = (BatchStream(p, sides.checked) for p in (sides.left, sides.right))
    alone: list[_Alone] = []
    same = True
    compared_to = -1  # offsets up to here were compared; a batch of one side may reach further
    while True:
        left.skip_equal(right)
        a, b = left.head(), right.head()
        if a is not None and (b is None or a.batch.last_offset < b.batch.base_offset):
            _extend(alone, "left", a, compared_to)
            left.advance()
        elif b is not None and (a is None or b.batch.last_offset < a.batch.base_offset):
            _extend(alone, "right", b, compared_to)
            right.advance()
        elif a is None or b is None:
            break
        else:
            same = False
            _compare_batches(sides, a, b, left, right)
            compared_to = min(a.batch.last_offset, b.batch.last_offset)
            if a.batch.last_offset <= b.batch.last_offset:
                left.advance()
            if b.batch.last_offset <= a.batch.last_offset:
                right.advance()
    notes = [_note_alone(sides, run, right if run.side == "left" else left) for run in alone]
    return same and set(notes) <= {"log_end"}


def _note_alone(sides: Sides, run: _Alone, other: BatchStream) -> str:
    """Note batches of one side: allowed before the other's start, after its end, or where that one was compacted."""
    if other.first_offset is None or run.last_offset < other.first_offset:
        what, allowed = "log_start", True
    elif run.first_offset > other.last_offset:
        what, allowed = "log_end", True
    else:
        what, allowed = "batches", other.compacted
    counts = (run.batches, 0) if run.side == "left" else (0, run.batches)
    where = f"offsets {run.first_offset}-{run.last_offset}"
    sides.note(what, where, *counts, allowed=allowed, offset=run.first_offset)
    return what


def _compare_batches(sides: Sides, a: BatchRow, b: BatchRow, left: BatchStream, right: BatchStream) -> None:
    """Compare two batches that share offsets and are not the same."""
    offset = max(a.batch.base_offset, b.batch.base_offset)
    end = min(a.batch.last_offset, b.batch.last_offset)
    where = f"offset {offset}"
    if a.batch.leader_epoch != b.batch.leader_epoch:
        epochs = a.batch.leader_epoch, b.batch.leader_epoch
        sides.note("leader_epoch", where, *epochs, allowed=False, offset=offset)
    if a.content == b.content and a.crc_ok:
        return
    mine, others = a.records(), b.records()
    if mine is None or others is None:
        sides.note("batch", where, a.shown(), b.shown(), allowed=False, offset=offset)
        return
    # records outside the shared offsets are compared with the other side's next batch
    mine, others = ({o: r for o, r in records.items() if offset <= o <= end} for records in (mine, others))
    differ = sorted(o for o in mine.keys() & others.keys() if mine[o][:5] != others[o][:5])
    for one in differ:
        sides.note("record", f"offset {one}", _shown(mine[one]), _shown(others[one]), allowed=False, offset=one)
    if differ:
        return
    if mine.keys() == others.keys():
        sides.note("batch_encoding", where, a.shown(), b.shown(), allowed=True, offset=offset)
        return
    # the side that lacks records must be the one that was compacted
    fine = (not others.keys() - mine.keys() or left.compacted) and (not mine.keys() - others.keys() or right.compacted)
    first = min(mine.keys() ^ others.keys())
    sides.note("batch_records", where, a.shown(), b.shown(), allowed=fine, offset=first)


class _Alone(NamedTuple):
    """A run of neighbouring batches that only one side has; `number` is the last one's."""

    side: str
    first_offset: int
    last_offset: int
    number: int
    batches: int


def _extend(alone: list[_Alone], side: str, row: BatchRow, compared_to: int) -> None:
    """Add a batch to the last run if it is that side's next one, else begin another run."""
    for at in range(len(alone) - 1, max(-1, len(alone) - 3), -1):
        if alone[at].side == side and alone[at].number == row.number - 1:
            alone[at] = alone[at]._replace(
                last_offset=row.batch.last_offset, number=row.number, batches=alone[at].batches + 1
            )
            return
    first = max(row.batch.base_offset, compared_to + 1)
    alone.append(_Alone(side, first, row.batch.last_offset, row.number, 1))


def _shown(record: Record) -> dict[str, Any]:
    """A record as a difference shows it: lengths and a digest, not contents, which may be confidential."""
    return {
        "timestamp": record.timestamp,
        "key_length": None if record.key is None else len(record.key),
        "value_length": None if record.value is None else len(record.value),
        "headers": len(record.headers),
        "digest": sha256(repr((record.key, record.value, record.headers)).encode()).hexdigest()[:16],
    }
