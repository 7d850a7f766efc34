"""Remote segments as their rules see them: the objects of one copy, what they hold, the copies of a partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kidx.checks.subjects.partitions import CheckedSegment
from kidx.formats.checkpoints import EpochStart

if TYPE_CHECKING:
    from kidx.evidence.tiered import DamagedObject
    from kidx.formats.remote_objects import Manifest
    from kidx.tiered.lineage import CopyFacts
    from kidx.tiered.log import TieredLog
    from kidx.tiered.metadata import ListedSegment
    from kidx.tiered.objects import RemoteCopy


class RemoteObjects(NamedTuple):
    """The objects of one copy. `manifest` is None where there is none, or where it is `damaged`."""

    copy: RemoteCopy
    manifest: Manifest | None = None
    damaged: DamagedObject | None = None


class DamagedPiece(NamedTuple):
    """A chunk or an index of a copy that is not what its manifest says."""

    copy: RemoteCopy
    damage: DamagedObject


class CheckedCopy(NamedTuple):
    """A copy whose log and indexes were checked. `epochs` are the lines of its leader epochs, None where unreadable."""

    copy: RemoteCopy
    facts: CopyFacts
    manifest: Manifest | None
    checked: CheckedSegment
    epochs: Sequence[EpochStart] | None


class CheckedCopies(NamedTuple):
    """The complete copies of a directory. `chain` are those that follow each other, `others` the rest."""

    chain: Sequence[RemoteCopy]
    others: Sequence[RemoteCopy]
    facts: Mapping[str, CopyFacts]
    lineage: Sequence[EpochStart]


class ReconciledSegment(NamedTuple):
    """A remote segment by the metadata and by the tier; one of the two is None where it does not have the segment.

    `topic_exists` is None where no cluster metadata is at hand. `deleted`: the metadata says that the segment's
    deletion was finished. `facts` are what the copy itself holds, None where it could not be examined.
    """

    listed: ListedSegment | None
    copy: RemoteCopy | None
    topic_exists: bool | None
    deleted: bool
    live: bool
    manifest: Manifest | None = None
    facts: CopyFacts | None = None

    @property
    def file(self) -> str:
        """The object to name in a finding; of a segment without objects the metadata's directory."""
        if self.copy is not None:
            return self.copy.object
        assert self.listed is not None
        return self.listed.file

    @property
    def bytes(self) -> int:
        """The size of the segment's objects."""
        return 0 if self.copy is None else self.copy.bytes


class LocalSegment(NamedTuple):
    """A closed segment of the local log: `end` is its last offset, `closed_ms` when its log was last written."""

    path: str
    base_offset: int
    end: int
    bytes: int
    closed_ms: int


class ReconciledPartition(NamedTuple):
    """A partition's log dir held against its tier.

    `missing` are ranges (first, last) that are in neither; `not_copied` are closed local segments below the last stable
    offset that no finished copy holds; `newest_copy_ms` is when the newest copy of any partition was finished.
    `retention` has what the topic's settings say, in ms and bytes. `sizes` are the bytes of the segments that serve
    offsets, by id and in order; `only_local_bytes` those of the local segments that were not copied.
    """

    log: TieredLog
    directory: str
    missing: Sequence[tuple[int, int]]
    not_copied: Sequence[LocalSegment]
    newest_copy_ms: int
    retention_ms: int | None
    retention_bytes: int | None
    sizes: Mapping[str, int]
    only_local_bytes: int
