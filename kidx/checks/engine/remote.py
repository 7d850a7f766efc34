"""A directory of a tier: its copies' objects, each log against its indexes, and the copies against each other.

The copies that follow each other are checked as a partition's segments are, so what a transaction or a snapshot needs
from earlier segments is known. Each of the others is checked by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.options import Options
from kidx.checks.engine.result import CheckResult, cannot_read
from kidx.checks.subjects.partitions import CheckedSegment, TextFile
from kidx.checks.subjects.remote import CheckedCopies, CheckedCopy, DamagedPiece, RemoteObjects
from kidx.errors import CannotRead, KidxError
from kidx.evidence import read_file
from kidx.evidence.tiered import DamagedObject, damaged_chunks, read_manifest
from kidx.findings import limited
from kidx.formats.checkpoints import EpochStart, parse_leader_epochs
from kidx.formats.object_names import LOG, MANIFEST, parse_object_name
from kidx.formats.remote_objects import Manifest
from kidx.logdir.names import LEADER_EPOCHS
from kidx.logdir.tree import Partition
from kidx.tiered.objects import RemoteCopy
from kidx.tiered.partition import Chain, RemotePartition

_EPOCHS = ".leader_epoch_checkpoint"


class RemoteDirectoryCheck:
    """The checks of the copies in one directory. `check` checks a partition's files into `done`: engine.partition."""

    def __init__(self, directory: str, copies: Iterable[RemoteCopy], options: Options, done: CheckResult) -> None:
        self.directory, self.copies, self.options, self.done = directory, list(copies), options, done
        self.manifests: dict[str, Manifest] = {}
        self._epochs: dict[str, list[EpochStart] | None] = {}

    def partitions(self) -> list[RemotePartition]:
        """Check what is not in the logs, and return the partitions to check: the chain, then each other copy."""
        chain = self.chain = Chain([copy for copy in self.copies if self._objects(copy)])
        for copy in chain.others:
            trouble = chain.trouble.get(copy.segment_id)
            if isinstance(trouble, CannotRead) and copy.segment_id not in chain.facts:
                cannot_read(copy.part(LOG), trouble, self.options, self.done)
        self._others = [copy for copy in chain.others if copy.segment_id in chain.facts]
        listed = CheckedCopies(chain.copies, self._others, chain.facts, chain.lineage)
        self.done.findings += limited(findings_about(listed))
        for copy in [*chain.copies, *self._others]:
            self._epochs[copy.segment_id] = self._leader_epochs(copy, counted=copy not in chain.copies[-1:])
        return ([chain.partition(self.directory)] if chain.copies else []) + chain.alone(self.directory)

    def finish(self, segments: Iterable[CheckedSegment]) -> None:
        """Check the copies in the light of their segments, and report the pieces that could not be put together."""
        copies = {copy.segment_id: copy for copy in self.copies}
        for checked in segments:
            copy = copies.get(checked.segment.tag)
            if copy is not None:
                about = CheckedCopy(
                    copy,
                    self.chain.facts[copy.segment_id],
                    self.manifests.get(copy.segment_id),
                    checked,
                    self._epochs.get(copy.segment_id),
                )
                self.done.findings += limited(findings_about(about))
        self._damage({copy.stem: copy for copy in self.copies})

    def _objects(self, copy: RemoteCopy) -> bool:
        """Check a copy's names and sizes; whether it is complete."""
        objects = RemoteObjects(copy)
        path = copy.stem + MANIFEST
        if copy.has_manifest:
            try:
                manifest = self.manifests[copy.segment_id] = read_manifest(path)
                objects = objects._replace(manifest=manifest)
                self.done.cover(path, copy.sizes[MANIFEST])
            except DamagedObject as e:
                objects = objects._replace(damaged=e)
            except CannotRead as e:
                self.done.cannot(path, str(e))
        found = list(limited(findings_about(objects)))
        self.done.findings += found
        whole = not copy.missing and (not copy.has_manifest or copy.segment_id in self.manifests)
        if not whole:
            why = "its manifest cannot be read" if not copy.missing else "the copy is incomplete"
            self.done.skip(copy.stem, why, copy.bytes - (copy.sizes.get(MANIFEST, 0) if copy.has_manifest else 0))
        return whole

    def _leader_epochs(self, copy: RemoteCopy, *, counted: bool) -> list[EpochStart] | None:
        """The lines of a copy's leader epochs. Those of the chain's last copy are counted with the chain."""
        path = copy.part(_EPOCHS).path
        try:
            data = read_file(path)
        except KidxError as e:
            if counted:
                cannot_read(copy.part(_EPOCHS), e, self.options, self.done)
            return None
        if not counted:
            return parse_leader_epochs(data)[0]
        self.done.cover(path, len(data))
        found = list(limited(findings_about(TextFile(path, LEADER_EPOCHS, data))))
        self.done.findings += found
        return None if found else parse_leader_epochs(data)[0]

    def _damage(self, copies: Mapping[str, RemoteCopy]) -> None:
        """Turn what could not be put together into findings; of a log with a damaged chunk, look for all of them."""
        pieces: dict[tuple[str, tuple[int, int] | None], DamagedObject] = {}
        for damage in self.done.damaged:
            stem, suffix = os.path.splitext(damage.path)
            if suffix == LOG and damage.span is not None and stem in copies:
                manifest = self.manifests[copies[stem].segment_id]
                pieces |= {(e.path, e.span): e for e in damaged_chunks(damage.path, manifest)}
            else:
                pieces[damage.path, damage.span] = damage
        self.done.damaged = []
        for damage in pieces.values():
            copy = copies.get(os.path.splitext(damage.path)[0])
            if copy is not None:
                self.done.findings += limited(findings_about(DamagedPiece(copy, damage)))


def holds_copies(partition: Partition) -> bool:
    """Whether a directory's names are those of objects of a tier."""
    return any(file.name.tag and parse_object_name(os.path.basename(file.path)) for file in partition.files)
