"""The sound batches of one replica in the order of their offsets, and what lies between them.

A CRC does not cover a batch's base offset, length and leader epoch. So a batch is sound if its CRC holds and its
offsets rise with its neighbours'; where a length is wrong, the next batch is searched for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from kidx.errors import CannotRead
from kidx.evidence import Evidence
from kidx.formats.batches import DELETE_HORIZON_BIT, HEADER_BYTES, fault_at, parse_batch
from kidx.formats.indexes import MAX_RELATIVE_OFFSET
from kidx.logdir.names import LOG
from kidx.logdir.tree import DataFile, Segment
from kidx.segments.resume import resume
from kidx.segments.scan import scan
from kidx.segments.walk import END, PREALLOCATED

if TYPE_CHECKING:
    from kidx.segments.windows import Window

Rows = npt.NDArray[np.void]

# `after` is the last offset of the batch before it where no damage lies between, else NOT_ATTACHED. `file` counts the
# replica's segments. `known` is False where the leader epoch does not fit its neighbours' and is in no
# leader-epoch-checkpoint.
ROW = np.dtype(
    [
        ("base", "i8"),
        ("last", "i8"),
        ("after", "i8"),
        ("position", "i8"),
        ("size", "i8"),
        ("count", "i8"),
        ("crc", "i8"),
        ("epoch", "i8"),
        ("file", "i4"),
        ("known", "?"),
    ]
)
NOT_ATTACHED = -2
_HELD_BATCHES = 16  # whose neighbours are read before they are believed
_LARGEST_OFFSET = 2**63 - 2
_MOST_DELTA = 2**31 - 1


class Damage(NamedTuple):
    """Bytes of a replica that hold no sound batch, between the offsets `after` and `before` (None: nothing follows).

    `end_offset` is the offset after the last one that the damaged batch's header claims, None where it cannot be told.
    """

    path: str
    position: int
    size: int
    why: str
    after: int
    before: int | None
    end_offset: int | None


class SoundBatches:
    """The sound batches of a replica's segments, as arrays of ROW, ascending; at most some windows are in memory.

    `damages`, `unread` and `compacted` are complete up to the batches read so far.
    """

    def __init__(self, segments: Sequence[Segment], known_epochs: frozenset[int]) -> None:
        self.files = [s.files[LOG] for s in segments]
        self.base_offsets = [s.base_offset for s in segments]
        self.damages: list[Damage] = []
        self.unread: list[str] = []
        self.compacted = False
        self._numbers = {file.path: number for number, file in enumerate(self.files)}
        self._known_epochs = np.array(sorted(known_epochs), np.int64)
        self._pending: list[Damage] = []  # whose neighbours are not known yet
        self._attached = False  # whether the next batch directly follows the one before
        self._epoch_before, self._last_before = -2, -1

    def __iter__(self) -> Iterator[Rows]:
        held = np.empty(0, ROW)
        done = -1  # the last offset that was given out
        for rows in self._read():
            rows = np.concatenate((held, rows[rows["base"] > done]))
            rows = self._rising(rows)
            ready, held = rows[:-_HELD_BATCHES], rows[-_HELD_BATCHES:]
            ready = self._that_fit(ready, held)
            if len(ready):
                done = int(ready["last"][-1])
                yield self._finished(ready, held)
        held = self._that_fit(held, held[:0])
        if len(held):
            yield self._finished(held, held[:0])
        self._place_damages(None)

    def _rising(self, rows: Rows) -> Rows:
        """The batches of the longest chain of rising offsets; the others are damage."""
        base, last = rows["base"], rows["last"]
        if not len(rows) or (base[1:] > last[:-1]).all():
            return rows
        return self._leave_out(rows, ~_longest_chain(base.tolist(), last.tolist()))

    def _that_fit(self, rows: Rows, following: Rows) -> Rows:
        """Without single batches whose offsets are too far from their segment's base; several such are believed.

        Segments whose offsets overflow exist (KAFKA-6264).
        """
        together = np.concatenate((rows, following[:1]))
        bases = np.array(self.base_offsets, np.int64)[together["file"]]
        far = together["last"] - bases > MAX_RELATIVE_OFFSET
        if not far.any():
            return rows
        lone = far.copy()
        lone[1:] &= ~far[:-1]
        lone[:-1] &= ~far[1:]
        return self._leave_out(rows, lone[: len(rows)])

    def _leave_out(self, rows: Rows, wrong: npt.NDArray[np.bool_]) -> Rows:
        """Without batches whose base offsets are wrong; what follows one does not directly follow the one before."""
        for row in rows[wrong]:
            path = self.files[int(row["file"])].path
            why = f"its base offset {int(row['base'])} does not fit those around it"
            self._pending.append(Damage(path, int(row["position"]), int(row["size"]), why, -1, None, None))
        rows["after"][1:][wrong[:-1]] = NOT_ATTACHED
        return rows[~wrong]

    def _finished(self, rows: Rows, following: Rows) -> Rows:
        """The batches with `after` and `known` filled in."""
        epoch = rows["epoch"]
        following_epoch = np.append(epoch[1:], following["epoch"][:1] if len(following) else [-2])
        epoch_before = np.concatenate(([self._epoch_before], epoch[:-1]))
        in_order = (epoch == epoch_before) | ((epoch_before <= epoch) & (epoch <= following_epoch))
        rows["known"] = in_order | (epoch == following_epoch) | np.isin(epoch, self._known_epochs)
        self._epoch_before = int(epoch[-1])
        attached = rows["after"] != NOT_ATTACHED
        previous = np.concatenate(([self._last_before], rows["last"][:-1]))
        at_start = rows["after"] >= 0  # the first batch of the first segment, after the segment's base offset
        rows["after"] = np.where(attached & ~at_start, previous, rows["after"])
        self._place_damages(rows)
        self._last_before = int(rows["last"][-1])
        return rows

    def _place_damages(self, rows: Rows | None) -> None:
        """Give the damages that were found their offsets: between which sound batches they lie."""
        places: list[tuple[int, int | None]]
        if rows is None:
            places = [(self._last_before, None) for _ in self._pending]
            ready = self._pending
            self._pending = []
        else:
            upto = (int(rows["file"][-1]), int(rows["position"][-1]))
            ready = [d for d in self._pending if (self._numbers[d.path], d.position) < upto]
            if not ready:
                return
            self._pending = [d for d in self._pending if (self._numbers[d.path], d.position) >= upto]
            keys = list(zip(rows["file"].tolist(), rows["position"].tolist(), strict=True))
            lasts = [self._last_before, *rows["last"].tolist()]
            slots = [bisect_right(keys, (self._numbers[d.path], d.position)) for d in ready]
            places = [(lasts[slot], int(rows["base"][slot])) for slot in slots]
        self.damages += [
            d._replace(after=after, before=before) for d, (after, before) in zip(ready, places, strict=True)
        ]

    # ---- one segment after another

    def _read(self) -> Iterator[Rows]:
        for number, file in enumerate(self.files):
            first = number == 0
            try:
                with file.open() as log:
                    if first or not log.size:
                        self._attached = True
                    yield from self._segment(number, file, log, first)
            except CannotRead as e:
                self.unread.append(str(e))
                self._pending.append(Damage(file.path, 0, 0, "it cannot be read", -1, None, None))
                self._attached = False

    def _segment(self, number: int, file: DataFile, log: Evidence, first: bool) -> Iterator[Rows]:
        position = 0
        while position < log.size:
            windows = scan(log, start=position)
            bad_from: int | None = None
            for window in windows:
                for begin, end, good in _runs(window):
                    if good:
                        if bad_from is not None:
                            yield from self._inside(number, file, log, bad_from, int(window.position[begin]))
                            bad_from = None
                        yield self._rows(window, begin, end, number, first and position == 0 and not window.start)
                    elif bad_from is None:
                        bad_from = int(window.position[begin])
            position = windows.position if bad_from is None else bad_from
            ending = windows.ending
            if bad_from is None and (ending is None or ending.kind == END):
                return
            if ending is not None and ending.kind == PREALLOCATED and bad_from is None:
                return
            found = resume(log, position)
            why = "its CRC does not hold" if bad_from is not None or ending is None else ending.why
            self._damage(file, log, position, log.size if found is None else found, why)
            if found is None:
                return
            position = found

    def _inside(self, number: int, file: DataFile, log: Evidence, start: int, end: int) -> Iterator[Rows]:
        """Batches that fail their CRC, up to `end`, where one is sound again: a wrong length may hide sound ones."""
        position = start
        while position < end:
            found = resume(log, position, end)
            self._damage(file, log, position, end if found is None else found, "its CRC does not hold")
            if found is None:
                return
            position = found
            for window in scan(log, start=found, end=end):
                good = min(window.bad_crc) if window.bad_crc else len(window)
                if good:
                    yield self._rows(window, 0, good, number, False)
                    position = int(window.position[good - 1] + window.size[good - 1])
                if good < len(window):
                    break

    def _damage(self, file: DataFile, log: Evidence, position: int, end: int, why: str) -> None:
        self._attached = False
        claimed = _claimed_end(log.read(position, HEADER_BYTES))
        self._pending.append(Damage(file.path, position, end - position, why, -1, None, claimed))

    def _rows(self, window: Window, begin: int, end: int, number: int, first: bool) -> Rows:
        rows = np.empty(end - begin, ROW)
        part = slice(begin, end)
        for name, column in (
            ("base", window.column("base_offset")),
            ("last", window.last_offset),
            ("position", window.position),
            ("size", window.size),
            ("count", window.column("record_count")),
            ("crc", window.column("crc")),
            ("epoch", window.column("leader_epoch")),
        ):
            rows[name] = column[part]
        rows["file"], rows["known"], rows["after"] = number, True, -1
        if first and begin == 0:
            rows["after"][0] = self.base_offsets[0] - 1
        elif not self._attached:
            rows["after"][0] = NOT_ATTACHED
        self._attached = True
        plausible = (rows["base"] >= 0) & (rows["last"] >= rows["base"]) & (rows["last"] <= _LARGEST_OFFSET)
        plausible &= rows["epoch"] >= -1
        if not plausible.all():
            for row in rows[~plausible]:
                path, at = self.files[number].path, int(row["position"])
                self._pending.append(Damage(path, at, int(row["size"]), "its offsets are impossible", -1, None, None))
            rows["after"][1:][~plausible[:-1]] = NOT_ATTACHED
            self._attached = bool(plausible[-1])
            rows = rows[plausible]
        new = window.column("magic")[part] == 2
        spans = window.column("last_offset_delta")[part] + 1
        horizon = window.column("attributes")[part] & DELETE_HORIZON_BIT
        fewer = window.column("record_count")[part] < spans
        self.compacted |= bool((new & (fewer | (horizon > 0))).any())
        return rows


def _runs(window: Window) -> Iterator[tuple[int, int, bool]]:
    """Neighbouring rows that are all sound or all not: first row, row after the last, sound."""
    bad = window.bad_crc or []
    at = 0
    while at < len(window):
        if not bad:
            yield at, len(window), True
            return
        slot = bisect_left(bad, at)
        following = bad[slot] if slot < len(bad) else len(window)
        if following > at:
            yield at, following, True
        end = following
        while slot < len(bad) and bad[slot] == end:
            slot, end = slot + 1, end + 1
        if end > following:
            yield following, end, False
        at = end


def _claimed_end(head: bytes) -> int | None:
    """The offset after the last one that a damaged batch's header names, None where it cannot be read."""
    if len(head) < HEADER_BYTES or fault_at(head, 0, _MOST_DELTA) is not None:
        return None
    batch = parse_batch(head, 0, 0)
    plausible = batch.magic == 2 and batch.base_offset >= 0 and batch.record_count <= batch.last_offset_delta + 1
    return batch.last_offset + 1 if plausible and batch.last_offset >= batch.base_offset else None


def _longest_chain(base: Sequence[int], last: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which intervals belong to the longest chain in which each begins after the one before has ended: bool, (n,)."""
    ends: list[int] = []  # by length of chain: the least end
    tail: list[int] = []  # by length of chain: the interval with that end
    before = [-1] * len(base)
    for row, (low, high) in enumerate(zip(base, last, strict=True)):
        length = bisect_left(ends, low)
        before[row] = tail[length - 1] if length else -1
        if length == len(ends):
            ends.append(high)
            tail.append(row)
        elif high < ends[length]:
            ends[length], tail[length] = high, row
    keep = np.zeros(len(base), np.bool_)
    row = tail[-1] if tail else -1
    while row >= 0:
        keep[row] = True
        row = before[row]
    return keep
