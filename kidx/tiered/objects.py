"""The objects of a tier, found by their names: LocalTieredStorage's and those of Aiven's plugin.

LocalTieredStorage: `<topic>-<partition>-<topic id>/<base offset>-<segment id><suffix>`, copies of the files.
Aiven: `<prefix><topic>-<topic id>/<partition>/<base offset>-<segment id>.log|.indexes|.rsm-manifest`.
Nothing is opened here. Sources: RemoteTopicPartitionDirectory, RemoteLogSegmentFileset; Aiven's ObjectKeyFactory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kidx.errors import CannotRead
from kidx.evidence import Entry, absolute
from kidx.formats.object_names import INDEXES, MANIFEST, is_id, parse_object_name
from kidx.formats.object_names import LOG as LOG_SUFFIX
from kidx.logdir.names import INDEX_OF_KIND, LOG, SEGMENT_SUFFIX, parse_file_name
from kidx.logdir.tree import DataFile, Segment, walk_tree

_LOCAL_SUFFIXES = (LOG_SUFFIX, ".index", ".timeindex", ".leader_epoch_checkpoint", ".snapshot")  # .txnindex may lack
_AIVEN_SUFFIXES = (LOG_SUFFIX, INDEXES, MANIFEST)
_ID = 22


class RemotePlace(NamedTuple):
    """What a directory of objects is named for. Aiven's prefix may be in front of `topic`."""

    topic: str
    topic_id: str
    partition: int


class RemoteCopy:
    """The objects of one copy of a segment; an unfinished copy lacks some. `sizes` are by suffix, in bytes."""

    def __init__(self, directory: str, base_offset: int, segment_id: str, place: RemotePlace | None) -> None:
        self.directory, self.base_offset, self.segment_id, self.place = directory, base_offset, segment_id, place
        self.sizes: dict[str, int] = {}
        self.modified_ns = 0

    def __repr__(self) -> str:
        return f"<copy {self.segment_id} of {self.stem}: {', '.join(self.sizes)}>"

    @property
    def stem(self) -> str:
        """The path of its objects without a suffix."""
        return os.path.join(self.directory, f"{self.base_offset:020d}-{self.segment_id}")

    @property
    def has_manifest(self) -> bool:
        """Whether its manifest is there: Aiven's plugin writes it last."""
        return MANIFEST in self.sizes

    @property
    def missing(self) -> list[str]:
        """The suffixes of the objects that are not there."""
        in_folder_of_number = os.path.basename(self.directory).isdigit()
        aiven = INDEXES in self.sizes or MANIFEST in self.sizes or (in_folder_of_number and len(self.sizes) == 1)
        return [s for s in (_AIVEN_SUFFIXES if aiven else _LOCAL_SUFFIXES) if s not in self.sizes]

    @property
    def bytes(self) -> int:
        """The size of all its objects."""
        return sum(self.sizes.values())

    @property
    def object(self) -> str:
        """The path of one of its objects: the manifest, or the first that is there."""
        return self.stem + (MANIFEST if self.has_manifest else next(iter(sorted(self.sizes)), LOG_SUFFIX))

    def part(self, suffix: str) -> DataFile:
        """One part by the suffix that LocalTieredStorage gives it, whether or not it is an object of its own."""
        path = self.stem + suffix
        name = parse_file_name(path)
        assert name is not None
        return DataFile(path, name)

    def segment(self) -> Segment:
        """The copy as a segment: its log and indexes."""
        segment = Segment(self.directory, self.base_offset, "", self.segment_id)
        for kind in (LOG, *INDEX_OF_KIND):
            suffix = SEGMENT_SUFFIX[kind]
            if suffix in self.sizes or (kind != LOG and self.has_manifest):
                segment.files[kind] = self.part(suffix)
        return segment


def place_of(directory: str) -> RemotePlace | None:
    """What the name of a directory of objects says, None where it is of neither plugin's form."""
    above, name = os.path.split(absolute(directory).rstrip("/"))
    if name.isascii() and name.isdigit() and len(name) <= 10:  # Aiven's
        topic, topic_id, partition = *_cut_id(os.path.basename(above)), name
    else:
        rest, topic_id = _cut_id(name)
        topic, _, partition = rest.rpartition("-")
    if not (topic and is_id(topic_id) and partition.isascii() and partition.isdigit() and len(partition) <= 10):
        return None
    return RemotePlace(topic, topic_id, int(partition))


def _cut_id(name: str) -> tuple[str, str]:
    """A name cut before its last 22 characters and the dash in front of them: ids may contain dashes."""
    return (name[: -_ID - 1], name[-_ID:]) if name[-_ID - 1 : -_ID] == "-" else ("", "")


def copies_in(directory: str, entries: Iterable[Entry]) -> list[RemoteCopy]:
    """The copies whose objects lie in a directory, by base offset and id. Other names are left out."""
    found: dict[tuple[int, str], RemoteCopy] = {}
    place = place_of(directory)
    for entry in entries:
        name = parse_object_name(entry.name)
        if name is None or entry.is_dir():
            continue
        copy = found.setdefault(name[:2], RemoteCopy(directory, *name[:2], place))
        status = entry.stat()
        copy.sizes[name.suffix] = status.st_size
        copy.modified_ns = max(copy.modified_ns, status.st_mtime_ns)
    return [found[key] for key in sorted(found)]


def copies_below(path: str, topic_id: str | None = None) -> Iterator[tuple[str, list[RemoteCopy]] | CannotRead]:
    """The directories at or below `path` that hold objects of segments, each with its copies; what cannot be listed.

    With a `topic_id`, directories that are named for another topic are not listed. Links are not followed.
    """

    def may_hold(name: str) -> bool:
        return topic_id is None or not is_id(_cut_id(name)[1]) or name.endswith(topic_id)

    for found in walk_tree(path, may_hold):
        if isinstance(found, CannotRead):
            yield found
        elif copies := copies_in(found.directory, found.entries):
            yield found.directory, copies
