"""What a partition is made of again: segments of ranges of its replicas' logs, and what is missing and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kidx.formats.indexes import MAX_RELATIVE_OFFSET
from kidx.logdir.cluster import Cluster
from kidx.logdir.log_dir import CLEANED_TO, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, LogDir
from kidx.recovery.merge import Bools, Chosen, Conflict, Merge
from kidx.recovery.sound_batches import Damage, Rows, SoundBatches
from kidx.recovery.sources import Recoverable, Replica, first_offset_known, leader_epochs
from kidx.surgery.state_files import new_epochs

TAKEN, MISSING, CONFLICT, LEFT_OUT = "taken", "missing", "conflict", "left_out"
_MOST_SEGMENT_BYTES = 2**31 - 1
_MOST_ROWS = 100_000  # of a kind in a partition
_MOST_CLAIMED = 1 << 24  # records in one batch that a damaged header may claim


class ReportRow(NamedTuple):
    """A line of the report: see kidx.recovery.v1. `last_offset` is None where the end cannot be told."""

    partition: str
    what: str
    first_offset: int | None = None
    last_offset: int | None = None
    source: str | None = None
    batches: int | None = None
    records: int | None = None
    bytes: int | None = None
    why: str | None = None


class Piece(NamedTuple):
    """A range of bytes of a replica's log."""

    path: str
    start: int
    end: int


class PlannedSegment(NamedTuple):
    """A segment of the new log. `epochs` are the leader epochs that begin in it, and their first offsets."""

    base_offset: int
    pieces: list[Piece]
    end_offset: int
    epochs: list[tuple[int, int]]


class PartitionPlan:
    """Reads a partition's replicas and divides what is chosen into segments.

    Once `segments` is exhausted, `rows` is the report, `end_offset` the log end, `unread` what could not be read, and
    `complete` whether nothing is missing. `log_start_offset` is known before.
    """

    def __init__(self, recoverable: Recoverable, cluster: Cluster) -> None:
        self.recoverable = recoverable
        self.rows: list[ReportRow] = []
        self.unread: list[str] = []
        self.complete = True
        self._key = (recoverable.topic, recoverable.number)
        lines = [leader_epochs(partition) for partition in recoverable.directories]
        epochs = {line.epoch for some in lines for line in some}
        self._replicas = recoverable.replicas
        self._streams = [SoundBatches(r.segments, frozenset(epochs)) for r in self._replicas]
        self.log_start_offset = self._log_start()
        # Retention moves the first line of a leader-epoch-checkpoint to the log start.
        known = [first_offset_known(recoverable), *(some[0].start_offset for some in lines if some)]
        self.start_offset = max(min((n for n in known if n is not None), default=0), self.log_start_offset)
        self.end_offset = self.start_offset
        self._first_base = min((s.base_offset for r in self._replicas for s in r.segments), default=0)
        fallback_from = [self._fallback_from(replica) for replica in self._replicas]
        self._merge = Merge(self._streams, fallback_from, min(self._first_base, self.start_offset))
        policy = cluster.setting(recoverable.topic, "cleanup.policy")
        self._compacted = (policy is not None and "compact" in policy.value) or any(
            offset > 0 for offset in self._checkpointed(CLEANED_TO)
        )
        self._taken: list[ReportRow] = []
        self._holes: list[tuple[int, int]] = []  # between batches that follow each other: normal where compacted
        self._extent: list[tuple[int, int] | None] = [None] * len(self._streams)

    # ---- what checkpoints tell

    def _checkpointed(self, name: str) -> list[int]:
        """This partition's offsets in a checkpoint of the replicas' log dirs, those that are malformed left out."""
        found = []
        for log_dir in self.recoverable.log_dirs:
            checkpoint = log_dir.checkpoint(name)
            if not checkpoint.problems and self._key in checkpoint.offsets:
                found.append(checkpoint.offsets[self._key])
        return found

    def _log_start(self) -> int:
        """The highest log start offset that a replica had moved to, if its log reaches so far."""
        starts = [0]
        for log_dir in self.recoverable.log_dirs:
            start = log_dir.checkpoint(LOG_STARTS).offsets.get(self._key)
            if start is not None and not log_dir.checkpoint(LOG_STARTS).problems and start <= self._reach(log_dir):
                starts.append(start)
        return max(starts)

    def _reach(self, log_dir: LogDir) -> int:
        bases = [s.base_offset for r in self._replicas if r.log_dir is log_dir for s in r.segments]
        marks = [log_dir.checkpoint(name).offsets.get(self._key, 0) for name in (HIGH_WATERMARKS, RECOVERY_POINTS)]
        return max([*bases, *marks], default=0)

    def _fallback_from(self, replica: Replica) -> int | None:
        """From which offset on segments that were to be deleted count: not before the first live one with data."""
        if not replica.fallback:
            return None
        live = [
            segment.base_offset
            for other in self._replicas
            if not other.fallback
            for segment in other.segments
            if segment.files["log"].size()
        ]
        return min(live, default=0)

    def cleaned_to(self) -> int | None:
        """The first offset that some replica's cleaner had not cleaned; None where one has not begun."""
        found = self._checkpointed(CLEANED_TO)
        return min(found) if found and len(found) == len(self.recoverable.log_dirs) else None

    # ---- segments

    def segments(self) -> Iterator[PlannedSegment]:
        """The segments of the new log, in order."""
        current: PlannedSegment | None = None
        size = 0
        end, epoch = min(self._first_base, self.start_offset), -1
        for chosen in self._merge:
            chosen = self._above_log_start(chosen)
            if not len(chosen.rows):
                continue
            holes = self._note_holes(chosen, end)
            end = int(chosen.rows["last"][-1]) + 1
            self._note_taken(chosen, holes)
            rising = _new_epochs(chosen.rows, epoch)
            epoch = rising[-1][0] if rising else epoch
            for rows, replica in _stretches(chosen, [stream.base_offsets for stream in self._streams]):
                stream = self._streams[replica]
                file = int(rows["file"][0])
                base = stream.base_offsets[file]
                first, stop = int(rows["base"][0]), int(rows["last"][-1])
                length = int(rows["position"][-1] + rows["size"][-1] - rows["position"][0])
                too_large = current is not None and (
                    size + length > _MOST_SEGMENT_BYTES or stop - current.base_offset > MAX_RELATIVE_OFFSET
                )
                if current is None or base > current.base_offset or too_large:
                    if current is not None:
                        yield current
                    fits = base <= first and stop - base <= MAX_RELATIVE_OFFSET
                    fits &= current is None or base >= current.end_offset
                    current, size = PlannedSegment(base if fits else first, [], first, []), 0
                start = int(rows["position"][0])
                _add_piece(current.pieces, Piece(stream.files[file].path, start, start + length))
                current.epochs.extend((e, offset) for e, offset in rising if first <= offset <= stop)
                current = current._replace(end_offset=stop + 1)
                size += length
            self._prune(end)
        self.end_offset = max(end, self.start_offset) if current else self._empty_base()
        if current is None:
            current = PlannedSegment(self.end_offset, [], self.end_offset, [])
        yield current
        self._finish()

    def _empty_base(self) -> int:
        """Where a log without any batch begins: with its active segment."""
        bases = [s.base_offset for r in self._replicas if not r.fallback for s in r.segments]
        return max([*bases, self.log_start_offset], default=0)

    def _above_log_start(self, chosen: Chosen) -> Chosen:
        """Without the batches of segments that end below the log start."""
        if int(chosen.rows["base"][0]) >= self.log_start_offset:
            return chosen
        keep = np.ones(len(chosen.rows), np.bool_)
        for n, stream in enumerate(self._streams):
            bases = np.array([*stream.base_offsets[1:], 2**63 - 1], np.int64)
            mine = chosen.replica == n
            keep[mine] = bases[chosen.rows["file"][mine]] > self.log_start_offset
        keep |= chosen.rows["last"] >= self.log_start_offset
        return Chosen(chosen.rows[keep], chosen.replica[keep], chosen.adjacent[keep])

    def _note_holes(self, chosen: Chosen, end: int) -> Bools:
        """Before which batches offsets are missing that nothing was chosen for: bool, shape (n,).

        A compressed message of format 0 or 1 does not tell where it begins.
        """
        rows = chosen.rows
        before = np.concatenate(([end], rows["last"][:-1] + 1))
        hole = (rows["base"] > before) & (rows["base"] > self.start_offset) & (rows["count"] >= 0)
        for row in hole.nonzero()[0]:
            first, stop = max(int(before[row]), self.start_offset), int(rows["base"][row])
            if chosen.adjacent[row]:
                if not self._is_compacted() and len(self._holes) < _MOST_ROWS:
                    self._holes.append((first, stop))
            else:
                self._missing(first, stop - 1, self._explain(first, stop))
        return hole & ~(chosen.adjacent & self._is_compacted())

    def _is_compacted(self) -> bool:
        return self._compacted or any(stream.compacted for stream in self._streams)

    def _explain(self, first: int, stop: int) -> str:
        """Why no replica has some offsets."""
        reasons = []
        for n, (replica, stream) in enumerate(zip(self._replicas, self._streams, strict=True)):
            inside = [d for d in stream.damages if d.after < stop and (d.before is None or d.before > first)]
            if inside:
                reasons.append(_damage_text(inside[0], len(inside)))
            elif not replica.fallback:
                reasons.append(f"{replica.name}: {_absence(self._extent[n], first, stop)}")
        return "; ".join(reasons)

    def _missing(self, first: int, last: int | None, why: str) -> None:
        self.complete = False
        if len(self.rows) < _MOST_ROWS:  # until the end there are no others in it
            self.rows.append(ReportRow(self.recoverable.name, MISSING, first, last, why=why))

    def _note_taken(self, chosen: Chosen, holes: Bools) -> None:
        changed = (np.diff(chosen.replica) != 0) | holes[1:]
        changes = np.concatenate(([0], changed.nonzero()[0] + 1, [len(chosen.rows)]))
        for begin, end in zip(changes[:-1].tolist(), changes[1:].tolist(), strict=True):
            replica = int(chosen.replica[begin])
            rows = chosen.rows[begin:end]
            first, last = int(rows["base"][0]), int(rows["last"][-1])
            extent = self._extent[replica]
            self._extent[replica] = (first if extent is None else extent[0], last)
            counts = rows["count"]
            records = None if (counts < 0).any() else int(counts.sum())
            source, size = self._replicas[replica].name, int(rows["size"].sum())
            goes_on = bool(self._taken) and self._taken[-1].source == source and not holes[begin]
            if goes_on or len(self._taken) >= _MOST_ROWS:
                before = self._taken.pop()
                before = before if before.source == source else before._replace(source=None)
                total = None if records is None or before.records is None else before.records + records
                sums = (before.batches or 0) + len(rows), total, (before.bytes or 0) + size
                self._taken.append(before._replace(last_offset=last, batches=sums[0], records=sums[1], bytes=sums[2]))
            else:
                row = ReportRow(self.recoverable.name, TAKEN, first, last, source, len(rows), records, size)
                self._taken.append(row)

    def _prune(self, end: int) -> None:
        """Forget damages that lie before what is chosen: they explain nothing any more."""
        for stream in self._streams:
            stream.damages = [d for d in stream.damages if d.before is None or d.before > end]

    # ---- the end

    def _finish(self) -> None:
        if not self._is_compacted():
            for first, stop in self._holes:
                self._missing(
                    first, stop - 1, "the batches around them follow each other, in a log that is not compacted"
                )
        self._note_lost_tail()
        for conflict in self._merge.conflicts:
            self._note_conflict(conflict)
        if self._merge.disagree or self._merge.diverged_to >= self.end_offset:
            self.complete = False
        self.rows += self._taken
        self.rows.sort(key=lambda row: (row.first_offset or 0, row.what != TAKEN))
        for stream in self._streams:
            self.unread += stream.unread

    def _note_lost_tail(self) -> None:
        end = self.end_offset
        reasons: list[str] = []
        stop: int | None = end
        for name, what in ((HIGH_WATERMARKS, "high watermark"), (RECOVERY_POINTS, "recovery point")):
            offset = max(self._checkpointed(name), default=0)
            if offset > end:
                reasons.append(f"the {what} is {offset}")
                stop = max(stop or 0, offset)
        for replica, stream in zip(self._replicas, self._streams, strict=True):
            tail = [d for d in stream.damages if d.before is None and d.after + 1 >= end]
            if not tail or replica.fallback:
                continue
            reasons.append(_damage_text(tail[0], len(tail)))
            claimed = [d.end_offset for d in tail if d.end_offset is not None]
            if len(claimed) < len(tail) or max(claimed) - end > _MOST_CLAIMED:
                stop = None if stop == end else stop
            elif stop is not None:
                stop = max(stop, *claimed)
        if reasons and stop != end:
            self._missing(end, None if stop is None else stop - 1, "; ".join(reasons))

    def _note_conflict(self, conflict: Conflict) -> None:
        path = self._streams[conflict.replica].files[conflict.file].path
        row = ReportRow(self.recoverable.name, CONFLICT, conflict.first_offset, conflict.last_offset, path)
        self.rows.append(row._replace(batches=1, why=f"not taken: {conflict.why}"))


def _stretches(chosen: Chosen, base_offsets: Sequence[Sequence[int]]) -> Iterator[tuple[Rows, int]]:
    """Neighbouring batches that lie one after another in one file of one replica, and fit one segment."""
    rows = chosen.rows
    follows = (rows["file"][1:] == rows["file"][:-1]) & (chosen.replica[1:] == chosen.replica[:-1])
    follows &= rows["position"][1:] == rows["position"][:-1] + rows["size"][:-1]
    too_far = rows["last"] - rows["base"][0] > MAX_RELATIVE_OFFSET
    if too_far.any():  # offsets that overflow a segment (KAFKA-6264)
        bases = np.array([base_offsets[r][f] for r, f in zip(chosen.replica, rows["file"], strict=True)], np.int64)
        part = (rows["last"] - bases) // (MAX_RELATIVE_OFFSET + 1)
        follows &= part[1:] == part[:-1]
    cuts = [0, *((~follows).nonzero()[0] + 1).tolist(), len(rows)]
    for begin, end in pairwise(cuts):
        yield rows[begin:end], int(chosen.replica[begin])


def _new_epochs(rows: Rows, epoch: int) -> list[tuple[int, int]]:
    """The leader epochs above the highest before them, each with the base offset of its first batch."""
    known = rows[rows["known"]]
    return new_epochs(known["epoch"], known["base"], epoch)


def _add_piece(pieces: list[Piece], piece: Piece) -> None:
    if pieces and pieces[-1].path == piece.path and pieces[-1].end == piece.start:
        pieces[-1] = pieces[-1]._replace(end=piece.end)
    else:
        pieces.append(piece)


def _damage_text(damage: Damage, count: int) -> str:
    more = f" (and {count - 1} more places)" if count > 1 else ""
    where = f"{damage.path}, {damage.size:,} bytes at byte {damage.position}" if damage.size else damage.path
    return f"{where}: {damage.why}{more}"


def _absence(extent: tuple[int, int] | None, first: int, stop: int) -> str:
    if extent is None:
        return "has none of these offsets"
    if first > extent[1]:
        return f"no batch after offset {extent[1]} was taken from it"
    return "no segment of it has these offsets"
