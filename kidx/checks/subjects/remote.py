"""Remote segments as their rules see them: the objects of one copy, what they hold, the copies of a partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kidx.checks.subjects.partitions import CheckedSegment
from kidx.evidence.tiered import DamagedObject
from kidx.formats.checkpoints import EpochStart
from kidx.formats.remote_objects import Manifest
from kidx.tiered.lineage import CopyFacts
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
