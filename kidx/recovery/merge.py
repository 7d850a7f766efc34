"""Choosing among the sound batches of all replicas: each offset once, of the highest leader epoch.

Replicas have the same batches where both have any, for a broker takes batches from a leader as they are. Where two
differ, the one of the higher leader epoch is the log's (KIP-101); within an epoch, the one that more replicas have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kidx.recovery.sound_batches import NOT_ATTACHED, ROW, Rows, SoundBatches

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MOST_CONFLICTS = 100_000
_LARGEST = 2**63 - 1


class Conflict(NamedTuple):
    """A batch of some replicas that was not chosen, and why."""

    first_offset: int
    last_offset: int
    replica: int
    file: int
    why: str


class Chosen(NamedTuple):
    """Batches to be taken, ascending: rows of ROW, the replica that each comes from, shape (n,).

    `adjacent` tells for each whether some replica has it directly after the batch chosen before it.
    """

    rows: Rows
    replica: Ints
    adjacent: Bools


class Merge:
    """The chosen batches of some replicas, whose streams are read side by side; `conflicts` grows meanwhile.

    `fallback_from` gives, for replicas that are a fallback, the offset from which on they count; None for the others.
    `start` is the offset that the log should begin with.
    """

    def __init__(self, streams: Sequence[SoundBatches], fallback_from: Sequence[int | None], start: int) -> None:
        self._sources = [iter(stream) for stream in streams]
        self._buffers: list[Rows] = [np.empty(0, ROW) for _ in streams]
        self._ended = [False] * len(streams)
        self._fallback_from = fallback_from
        self._current = 0
        self._last = start - 1  # the last offset chosen
        self._epoch = -1  # the highest leader epoch chosen
        self.conflicts: list[Conflict] = []  # the first MOST_CONFLICTS
        self.disagree = False  # whether two batches of one epoch have the same offsets
        self.diverged_to = -1  # the last offset of a batch that was not in the log

    def __iter__(self) -> Iterator[Chosen]:
        for n in range(len(self._sources)):
            self._refill(n)
        while any(len(buffer) for buffer in self._buffers) or not all(self._ended):
            rows, replica = self._complete_rows()
            if len(rows):
                chosen = self._choose(rows, replica)
                if len(chosen.rows):
                    yield chosen
            least = self._least_advanced()
            if least is not None:
                self._refill(least)

    def _refill(self, n: int) -> None:
        since = self._fallback_from[n]
        for more in self._sources[n]:
            if since is not None:
                more = more[more["base"] >= since]
            if len(more):
                self._buffers[n] = np.concatenate((self._buffers[n], more))
                return
        self._ended[n] = True

    def _least_advanced(self) -> int | None:
        """The replica that holds the others up: the one that has been read least far."""
        running = [n for n, ended in enumerate(self._ended) if not ended]
        return min(running, key=self._read_to, default=None)

    def _read_to(self, n: int) -> int:
        if self._ended[n]:
            return _LARGEST
        return int(self._buffers[n]["last"][-1]) if len(self._buffers[n]) else -1

    def _complete_rows(self) -> tuple[Rows, Ints]:
        """The batches about whose offsets every replica has been read, and no batch that overlaps one left behind."""
        limit = min(self._read_to(n) for n in range(len(self._buffers)))
        cuts = [int(buffer["last"].searchsorted(limit, "right")) for buffer in self._buffers]
        while True:
            left = [int(b["base"][cut]) for b, cut in zip(self._buffers, cuts, strict=True) if cut < len(b)]
            low = min(left, default=_LARGEST)
            lower = [min(cut, int(b["last"].searchsorted(low))) for b, cut in zip(self._buffers, cuts, strict=True)]
            if lower == cuts:
                break
            cuts = lower
        parts = [buffer[:cut] for buffer, cut in zip(self._buffers, cuts, strict=True)]
        self._buffers = [buffer[cut:] for buffer, cut in zip(self._buffers, cuts, strict=True)]
        replica = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return np.concatenate(parts), replica

    def _choose(self, rows: Rows, replica: Ints) -> Chosen:
        order = np.lexsort((replica, rows["crc"], rows["size"], rows["last"], rows["base"]))
        rows, replica = rows[order], replica[order]
        fallback = np.array([since is not None for since in self._fallback_from])
        groups = _Groups(rows, replica, fallback)
        keep = np.ones(len(groups.first), np.bool_)
        self._drop_covered_fallbacks(groups, keep)
        self._drop_overlapping(groups, keep)
        self._drop_diverging(groups, keep)
        at = keep.nonzero()[0]
        source = groups.sources(at, self._current)
        if len(at):
            self._current = int(source[-1])
        chosen = rows[groups.row_of(at, source)]
        chosen["known"] = groups.known[at]
        before = np.concatenate(([self._last], chosen["last"][:-1]))
        adjacent = groups.any_after(at, before)
        if len(at):
            self._last = int(chosen["last"][-1])
        return Chosen(chosen, source, adjacent)

    def _drop_covered_fallbacks(self, groups: _Groups, keep: Bools) -> None:
        """Drop batches of fallback replicas alone, where another replica goes on without them and without damage."""
        if not groups.only_fallback.any():
            return
        rows, fallback = groups.rows, groups.fallback
        live = ~fallback[groups.replica] & (rows["after"] != NOT_ATTACHED)
        order = rows["after"][live].argsort(kind="stable")
        after, last = rows["after"][live][order], np.maximum.accumulate(rows["last"][live][order])
        for group in groups.only_fallback.nonzero()[0]:
            row = rows[groups.first[group]]
            slot = int(after.searchsorted(row["base"])) - 1
            keep[group] = slot < 0 or last[slot] < row["last"]

    def _drop_overlapping(self, groups: _Groups, keep: Bools) -> None:
        """Where batches overlap, the best is kept: of the highest epoch, of most replicas, in its place there."""
        at = keep.nonzero()[0]
        base, last = groups.rows["base"][groups.first[at]], groups.rows["last"][groups.first[at]]
        if not len(at) or (base[1:] > np.maximum.accumulate(last)[:-1]).all():
            return
        starts = np.concatenate(([True], base[1:] > np.maximum.accumulate(last)[:-1]))
        for cluster in np.split(at, starts.nonzero()[0][1:]):
            if len(cluster) > 1:
                self._settle(groups, cluster, keep)

    def _settle(self, groups: _Groups, cluster: Ints, keep: Bools) -> None:
        ranked = sorted(cluster.tolist(), key=groups.merit, reverse=True)
        taken: list[int] = []
        for group in ranked:
            row = groups.rows[groups.first[group]]
            rivals = [
                other
                for other in taken
                if groups.rows["base"][groups.first[other]] <= row["last"]
                and row["base"] <= groups.rows["last"][groups.first[other]]
            ]
            if not rivals:
                taken.append(group)
                continue
            keep[group] = False
            if groups.only_fallback[group]:
                continue
            mine, theirs = groups.epoch[group], groups.epoch[rivals[0]]
            same = bool(mine == theirs)
            if same:
                why = f"other bytes at the same offsets in leader epoch {mine}; {groups.votes_text(group, rivals[0])}"
            else:
                why = f"of leader epoch {mine}; the log has epoch {theirs} there"
            self._note(groups, group, why, same, covered=True)

    def _drop_diverging(self, groups: _Groups, keep: Bools) -> None:
        """Batches of a lower leader epoch than one before them: the tail of a log that was not the leader's."""
        at = keep.nonzero()[0]
        epoch = np.where(groups.known[at], groups.epoch[at], -1)
        highest = np.maximum.accumulate(np.concatenate(([self._epoch], epoch)))
        diverging = groups.known[at] & (groups.epoch[at] >= 0) & (groups.epoch[at] < highest[:-1])
        for group, above in zip(at[diverging].tolist(), highest[:-1][diverging].tolist(), strict=True):
            keep[group] = False
            if not groups.only_fallback[group]:
                why = f"of leader epoch {groups.epoch[group]}, after batches of epoch {above}: it was not in the log"
                self._note(groups, group, why, same_epoch=False, covered=False)
        self._epoch = int(highest[-1])

    def _note(self, groups: _Groups, group: int, why: str, same_epoch: bool, covered: bool) -> None:
        row = groups.rows[groups.first[group]]
        self.disagree |= same_epoch
        self.diverged_to = max(self.diverged_to, -1 if covered else int(row["last"]))
        if len(self.conflicts) >= MOST_CONFLICTS:
            return
        replica = int(groups.replica[groups.first[group]])
        where = int(row["base"]), int(row["last"]), replica, int(row["file"])
        self.conflicts.append(Conflict(*where, why))


class _Groups:
    """Rows of all replicas, the same batch of several replicas as one group; ordered by offsets."""

    def __init__(self, rows: Rows, replica: Ints, fallback: Bools) -> None:
        """`fallback` tells of each replica whether it is one: bool, shape (replicas,)."""
        self.rows, self.replica, self.fallback = rows, replica, fallback
        same = np.zeros(len(rows), np.bool_)
        same[1:] = True
        for name in ("base", "last", "size", "crc"):
            same[1:] &= rows[name][1:] == rows[name][:-1]
        self.first = (~same).nonzero()[0]
        self._group = np.cumsum(~same) - 1
        self._row = np.full((len(self.first), len(fallback)), -1, np.int64)
        self._row[self._group, replica] = np.arange(len(rows))
        self.has = self._row >= 0
        self.epoch = rows["epoch"][self.first].copy()
        self.known = rows["known"][self.first].copy()
        self._settle_epochs()
        self.only_fallback: Bools = np.logical_not(self.has[:, ~fallback].any(axis=1))

    def _settle_epochs(self) -> None:
        """One batch has one leader epoch: where replicas differ, the one that is known, and that most have."""
        lowest, highest = (f.reduceat(self.rows["epoch"], self.first) for f in (np.minimum, np.maximum))
        known = np.logical_and.reduceat(self.rows["known"], self.first)
        for group in ((lowest != highest) | ~known).nonzero()[0]:
            members = self._row[group][self.has[group]]
            trusted = members[self.rows["known"][members]]
            values, counts = np.unique(self.rows["epoch"][trusted if len(trusted) else members], return_counts=True)
            self.epoch[group] = values[counts.argmax()]
            self.known[group] = bool(len(trusted)) or (len(members) > 1 and counts.max() > 1)
            right = members[self.rows["epoch"][members] == self.epoch[group]]
            self._row[group] = -1
            self._row[group, self.replica[right]] = right
            self.first[group] = right[0]
        self.has = self._row >= 0

    def merit(self, group: int) -> tuple[int, ...]:
        """What makes a batch the better one of several: compared as tuples."""
        row = self.rows[self.first[group]]
        members = self._row[group][self.has[group]]
        epoch = int(self.epoch[group]) if self.known[group] else -1
        attached = bool((self.rows["after"][members] == row["base"] - 1).any())
        return (
            not self.only_fallback[group],
            epoch,
            len(members),
            attached,
            int(row["count"]),
            -int(self.replica[members[0]]),
            -int(row["base"]),
        )

    def votes_text(self, loser: int, winner: int) -> str:
        """How many replicas have either of two batches."""
        return f"{int(self.has[loser].sum())} of the replicas have these, {int(self.has[winner].sum())} the others"

    def sources(self, at: Ints, current: int) -> Ints:
        """Which replica each group is taken from: the same one as long as it has the batches."""
        has = self.has[at]
        source = np.zeros(len(at), np.int64)
        lacks: dict[int, Ints] = {}
        start = 0
        while start < len(at):
            if not has[start, current]:
                current = int(has[start].argmax())
            if current not in lacks:
                lacks[current] = (~has[:, current]).nonzero()[0]
            slot = int(lacks[current].searchsorted(start))
            end = int(lacks[current][slot]) if slot < len(lacks[current]) else len(at)
            source[start:end] = current
            start = end
        return source

    def row_of(self, at: Ints, source: Ints) -> Ints:
        """The rows of these groups in the replicas that they are taken from."""
        return self._row[at, source]

    def any_after(self, at: Ints, before: Ints) -> Bools:
        """Whether some replica has the batch directly after the one that ends with the offset `before`: (n,)."""
        found = np.zeros(len(at), np.bool_)
        for replica in range(self.has.shape[1]):
            row = self._row[at, replica]
            found |= (row >= 0) & (self.rows["after"][row] == before)
        return found
