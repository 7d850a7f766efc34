"""Which copy serves which offsets: by __remote_log_metadata, or by the objects of a tier alone.

The broker looks an offset up by the leader epoch that wrote it (leader-epoch-checkpoint), among the copies that are
finished: RemoteLogManager.fetchRemoteLogSegmentMetadata, isRemoteSegmentWithinLeaderEpochs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from kidx.evidence import read_file
from kidx.evidence.tiered import read_manifest
from kidx.formats.checkpoints import EpochStart, parse_leader_epochs
from kidx.formats.object_names import MANIFEST
from kidx.lookup.segment import SegmentReader
from kidx.state.remote_log import EpochIndexes
from kidx.tiered.objects import RemoteCopy


class CopyFacts(NamedTuple):
    """What a copy holds: its first and last offset, and the leader epochs of its records with their first offsets."""

    segment_id: str
    start: int
    end: int
    epochs: Mapping[int, int]
    max_timestamp: int


class Served(NamedTuple):
    """Offsets `first` to `last` are served by a copy; by none if `segment_id` is None."""

    segment_id: str | None
    first: int
    last: int


def facts_of(copy: RemoteCopy) -> CopyFacts:
    """What a copy's own objects say. Raises CannotRead and its children."""
    if copy.has_manifest:
        m = read_manifest(copy.stem + MANIFEST)
        return CopyFacts(copy.segment_id, m.start_offset, m.end_offset, m.leader_epochs, m.max_timestamp_ms)
    with SegmentReader(copy.segment()) as reader:
        end = reader.end_offset() - 1
        largest, _ = reader.largest_timestamp(active=False)
    epochs = {}
    lines = epochs_of(copy)
    for at, line in enumerate(lines):
        behind = lines[at + 1].start_offset if at + 1 < len(lines) else end + 1
        if behind > copy.base_offset and line.start_offset <= end:
            epochs[line.epoch] = max(line.start_offset, copy.base_offset)
    return CopyFacts(copy.segment_id, copy.base_offset, end, epochs, largest)


def epochs_of(copy: RemoteCopy) -> list[EpochStart]:
    """The leader epochs that went with a copy: those of the log up to its end. Raises CannotRead and its children."""
    return parse_leader_epochs(read_file(copy.part(".leader_epoch_checkpoint").path))[0]


def since(lineage: Sequence[EpochStart], offset: int) -> list[EpochStart]:
    """The leader epochs from an offset on, the first of which begins there."""
    kept = [line for at, line in enumerate(lineage) if at + 1 == len(lineage) or lineage[at + 1].start_offset > offset]
    return [EpochStart(line.epoch, max(line.start_offset, offset)) for line in kept]


def newest_lineage(facts: Iterable[tuple[CopyFacts, Sequence[EpochStart]]]) -> Sequence[EpochStart]:
    """The leader epochs of the copy with the newest epoch, of several the one that ends last."""
    known = [(max(f.epochs, default=-1), f.end, lines) for f, lines in facts]
    return max(known, key=lambda item: item[:2])[2] if known else []


def lineage_of(facts: Iterable[CopyFacts]) -> Sequence[EpochStart]:
    """Leader epochs by the copies' own, where the files that went with them cannot be read."""
    starts: dict[int, int] = {}
    for each in facts:
        for epoch, start in each.epochs.items():
            starts[epoch] = min(start, starts.get(epoch, start))
    return [EpochStart(epoch, starts[epoch]) for epoch in sorted(starts)]


def is_within(facts: CopyFacts, lineage: Sequence[EpochStart], log_end: int | None = None) -> bool:
    """Whether a copy belongs to the log with these leader epochs (isRemoteSegmentWithinLeaderEpochs)."""
    leaders = {line.epoch: line.start_offset for line in lineage}
    if not leaders or not facts.epochs:
        return True
    order = sorted(leaders)
    own = sorted(facts.epochs)
    first = next((epoch for epoch in own if epoch >= order[0]), None)
    if first is None or own[-1] > order[-1]:
        return False
    next_leader, next_own = dict(pairwise(order)), dict(pairwise(own))
    if first != order[0] and first in leaders and facts.epochs[first] < leaders[first]:
        return False
    for epoch in (epoch for epoch in own if epoch >= first):
        if epoch not in leaders:
            return False
        after, following = next_leader.get(epoch), next_own.get(epoch)
        if following is None:
            if after is not None and facts.end >= leaders[after]:
                return False
        elif after != following or leaders[following] != facts.epochs[following]:
            return False
    return log_end is None or facts.end < log_end


def served(
    indexes: EpochIndexes, facts: Mapping[str, CopyFacts], lineage: Sequence[EpochStart], first: int, end: int
) -> list[Served]:
    """Which copies serve the offsets from `first` to before `end`, in order; neighbouring ranges of one copy joined."""
    found: list[Served] = []
    starts = [line.start_offset for line in lineage]
    offset = first
    while offset < end:
        at = bisect_right(starts, offset) - 1
        epoch_end = min(starts[at + 1] if at + 1 < len(starts) else end, end)
        index = indexes.by_epoch.get(lineage[at].epoch) if at >= 0 else None
        segment = index.floor(offset) if index is not None else None
        last = -1
        if index is not None and segment is not None and segment in facts:
            later = [start for epoch, start in facts[segment].epochs.items() if epoch > lineage[at].epoch]
            last = min(min(later, default=facts[segment].end + 1) - 1, epoch_end - 1)
        if last < offset:
            following = index.next_start(offset) if index is not None else None
            segment, last = None, min(following or epoch_end, epoch_end) - 1
        if found and found[-1].segment_id == segment:
            found[-1] = found[-1]._replace(last=last)
        else:
            found.append(Served(segment, offset, last))
        offset = last + 1
    return found


def indexes_of(facts: Iterable[CopyFacts]) -> EpochIndexes:
    """The indexes that copies add up to if they were finished in this order."""
    indexes = EpochIndexes()
    for each in facts:
        indexes.add(each.segment_id, each.epochs, each.end)
    return indexes
