"""The remote log of a partition as segments, in the order in which a consumer reads them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from kidx.errors import KidxError
from kidx.evidence.tiered import read_manifest
from kidx.formats.checkpoints import EpochStart
from kidx.formats.object_names import MANIFEST, PARTS
from kidx.logdir.names import LEADER_EPOCHS, PRODUCER_SNAPSHOT, SEGMENT_SUFFIX, TRANSACTION, FileName, PartitionName
from kidx.logdir.tree import DataFile, Partition, Segment
from kidx.tiered.lineage import (
    CopyFacts,
    epochs_of,
    facts_of,
    indexes_of,
    is_within,
    lineage_of,
    newest_lineage,
    served,
)
from kidx.tiered.objects import RemoteCopy

_SNAPSHOT, _EPOCHS = ".snapshot", ".leader_epoch_checkpoint"
assert {_SNAPSHOT, _EPOCHS} < PARTS.keys()


class RemotePartition(Partition):
    """Copies that follow each other as a directory of segments. No segment is active; nothing is listed.

    Producer snapshots have the offset that they are of, the one after their segment's last; the leader epochs are
    those of the last copy. `next_offset` is the offset after the last segment.
    """

    def __init__(
        self,
        directory: str,
        copies: Sequence[RemoteCopy],
        next_offset: int | None = None,
        name: PartitionName | None = None,
    ) -> None:
        """`name` is None where no log dir is to be looked for. Raises CannotRead."""
        super().__init__(directory, [])
        self.name, self.copies = name, copies
        self.files = [file for copy in copies for file in files_of(copy)]
        ends = [copy.base_offset for copy in copies[1:]] + [next_offset]
        for copy, end in zip(copies, ends, strict=True):
            if _holds(copy, _SNAPSHOT) and end is not None:
                self.files.append(DataFile(copy.part(_SNAPSHOT).path, FileName(PRODUCER_SNAPSHOT, end, "", "")))
        last = next((copy for copy in reversed(copies) if _holds(copy, _EPOCHS)), None)
        if last is not None:
            self.files.append(DataFile(last.part(_EPOCHS).path, FileName(LEADER_EPOCHS, None, "")))

    @property
    def lineage(self) -> list[EpochStart]:
        """The leader epochs that went with the last copy; none where they cannot be read."""
        try:
            return epochs_of(self.copies[-1])
        except KidxError:
            return []

    @property
    def active_segment(self) -> Segment | None:
        """None: nothing is appended to a copy."""
        return None

    def stopped_cleanly(self) -> bool | None:
        """None: there is no log dir."""
        return None


def files_of(copy: RemoteCopy) -> list[DataFile]:
    """The log and the indexes that a copy has. Raises CannotRead."""
    files = copy.segment().files
    if copy.has_manifest and read_manifest(copy.stem + MANIFEST).places[SEGMENT_SUFFIX[TRANSACTION]] is None:
        del files[TRANSACTION]
    return list(files.values())


def _holds(copy: RemoteCopy, suffix: str) -> bool:
    return copy.has_manifest or suffix in copy.sizes


class Chain:
    """The copies of one directory that follow each other as the broker would read them, and those that it would not.

    Without the metadata, the newest leader epochs decide; of several copies of the same offsets the one that was
    copied last, by the objects' times. `facts` are by segment id; `trouble` says why some are missing.
    """

    def __init__(self, copies: Sequence[RemoteCopy]) -> None:
        self.facts: dict[str, CopyFacts] = {}
        self.trouble: dict[str, KidxError] = {}
        lines: dict[str, Sequence[EpochStart]] = {}
        for copy in copies:
            try:
                self.facts[copy.segment_id] = facts_of(copy)
                lines[copy.segment_id] = epochs_of(copy)
            except KidxError as e:
                self.trouble[copy.segment_id] = e
        known = {copy.segment_id: copy for copy in copies if copy.segment_id in self.facts}
        lineage = newest_lineage((self.facts[i], lines[i]) for i in known if i in lines)
        lineage = lineage or lineage_of(self.facts.values())
        in_order = sorted(known.values(), key=lambda copy: (copy.modified_ns, copy.base_offset, copy.segment_id))
        valid = [self.facts[c.segment_id] for c in in_order if is_within(self.facts[c.segment_id], lineage)]
        self.lineage = lineage
        self.served = []
        if valid and lineage:
            first, end = min(f.start for f in valid), max(f.end for f in valid) + 1
            self.served = served(indexes_of(valid), self.facts, lineage, first, end)
        chosen = list(dict.fromkeys(s.segment_id for s in self.served if s.segment_id is not None))
        self.copies = [known[i] for i in chosen]
        self.others = [copy for copy in copies if copy.segment_id not in chosen]

    @property
    def next_offset(self) -> int | None:
        """The offset after the last segment's last."""
        return self.facts[self.copies[-1].segment_id].end + 1 if self.copies else None

    def partition(self, directory: str, name: PartitionName | None = None) -> RemotePartition:
        """The chain as a directory of segments."""
        return RemotePartition(directory, self.copies, self.next_offset, name)

    def alone(self, directory: str, name: PartitionName | None = None) -> list[RemotePartition]:
        """Each of the other copies that can be read, as a directory of one segment."""
        ends = [(copy, self.facts[copy.segment_id].end + 1) for copy in self.others if copy.segment_id in self.facts]
        return [RemotePartition(directory, [copy], end, name) for copy, end in ends]


class RemoteLog(NamedTuple):
    """The partition that a directory of copies is of, and what can be read of it: the chain first, then other copies.

    `unread` has a sentence for each copy that cannot be read.
    """

    name: PartitionName
    topic_id: str | None
    partitions: Sequence[RemotePartition]
    unread: Sequence[str]


def remote_log(directory: str, copies: Sequence[RemoteCopy]) -> RemoteLog:
    """The log of a directory of copies, by the objects alone. Copies that lack objects are left out."""
    complete = [copy for copy in copies if not copy.missing]
    chain = Chain(complete)
    name, topic_id = _identity(complete or copies)
    found = ([chain.partition(directory, name)] if chain.copies else []) + chain.alone(directory, name)
    return RemoteLog(name, topic_id, found, [str(e) for e in chain.trouble.values()])


def _identity(copies: Sequence[RemoteCopy]) -> tuple[PartitionName, str | None]:
    """Topic, partition and topic id, by a manifest, else by the directory: Aiven's prefix may be in front there."""
    for copy in copies:
        if copy.has_manifest:
            try:
                manifest = read_manifest(copy.stem + MANIFEST)
            except KidxError:
                continue
            return PartitionName(manifest.topic, manifest.partition, ""), manifest.topic_id
    place = copies[0].place
    if place is None:
        return PartitionName(os.path.basename(copies[0].directory), 0, ""), None
    return PartitionName(place.topic, place.partition, ""), place.topic_id
