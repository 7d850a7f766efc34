"""Which releases of the broker can have written a segment, judging by its files.

Each sign is a change of the files' format that one release made: it bounds the oldest or the newest release that fits.
The family is UNKNOWN if there is no sign, or if two signs contradict each other (indexes rebuilt by a later release,
files copied from several brokers).

Sources: KIP-32 and KIP-33 (0.10.0: timestamps, time index), KIP-98 (0.11: batches of magic 2, producer snapshots),
KIP-101 (0.11: leader epochs), KIP-534 (delete horizons), KIP-516 (2.8: partition.metadata), KIP-724 (4.0: magic 2
alone). Entries of an offset index name the first offset of a batch up to 1.1 and the last one since 2.0: tested with
brokers 0.9.0.1 to 4.3.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from kidx.errors import KidxError
from kidx.evidence import Evidence
from kidx.formats.batches import DELETE_HORIZON_BIT, HEADER_BYTES, Batch, fault_at, parse_batch
from kidx.formats.indexes import OFFSET_INDEX, extent_of
from kidx.logdir.names import LOG, OFFSET, PRODUCER_SNAPSHOT, TIME
from kidx.logdir.tree import Partition, Segment

Release = tuple[int, int]  # (2, 8) is 2.8; (0, 10) is 0.10.0

# Families of releases, by what their files have in common.
UNKNOWN = "unknown"
BEFORE_0_10 = "before 0.10"  # no timestamps, no time indexes
V0_11_TO_1_1 = "0.11 to 1.1"  # batches of magic 2; an index entry names a batch's first offset
UP_TO_1_1 = "up to 1.1"  # the same; the messages are of an older format
SINCE_2_0 = "2.0 and later"  # an index entry names a batch's last offset
SINCE_2_8 = "2.8 and later"
SINCE_3_1 = "3.1 and later"

# Which offset of their batches index entries name.
FIRST, LAST, MIXED = "first", "last", "mixed"

_SAMPLE = 64  # index entries and batches looked at, from either end


class Sign(NamedTuple):
    """Something in the files that distinguishes releases: `oldest` and `newest` that write it, and a phrase."""

    what: str
    oldest: Release | None = None
    newest: Release | None = None


_FORMAT_0 = Sign("messages of format 0", newest=(3, 9))


class Writer(NamedTuple):
    """What is known about the broker that wrote some files.

    `oldest` and `newest` bound the releases that fit all signs, None if no sign bounds that side. `index_offsets` is
    FIRST, LAST or MIXED (an upgrade within the segment), None if no entry shows it.
    """

    family: str
    oldest: Release | None
    newest: Release | None
    index_offsets: str | None
    signs: tuple[Sign, ...]


def writer_of_segment(segment: Segment) -> Writer:
    """The writer of a segment's own files. Reads at most some kilobytes; damaged parts are ignored, nothing raises."""
    signs: list[Sign] = []
    named: str | None = None
    log = segment.file(LOG)
    if log is not None:
        try:
            with log.open() as evidence:
                batches = list(_first_batches(evidence))
                signs += _signs_of_batches(batches)
                named = _offsets_named(segment, evidence)
        except KidxError:
            pass
        if signs == [_FORMAT_0] and OFFSET in segment.files and TIME not in segment.files:
            signs.append(Sign("an offset index without a time index", newest=(0, 9)))
    if TIME in segment.files:
        signs.append(Sign("a time index", oldest=(0, 10)))
    if PRODUCER_SNAPSHOT in segment.files:
        signs.append(Sign("a producer snapshot", oldest=(0, 11)))
    if named == FIRST:
        signs.append(Sign("index entries name the first offset of their batches", newest=(1, 1)))
    elif named == LAST:
        signs.append(Sign("index entries name the last offset of their batches", oldest=(2, 0)))
    return _concluded(signs, named)


def writer_of_partition(partition: Partition) -> Writer:
    """The newest broker that wrote in a partition's directory; older segments may be written by other releases."""
    kinds = {file.kind for file in partition.files}
    signs = []
    if "leader_epochs" in kinds:
        signs.append(Sign("leader-epoch-checkpoint", oldest=(0, 11)))
    if "partition_metadata" in kinds:
        signs.append(Sign("partition.metadata", oldest=(2, 8)))
    active = partition.active_segment
    if active is None:
        return _concluded(signs, None)
    written = writer_of_segment(active)
    return _concluded([*signs, *written.signs], written.index_offsets)


def _concluded(signs: list[Sign], index_offsets: str | None) -> Writer:
    oldest = max((s.oldest for s in signs if s.oldest is not None), default=None)
    newest = min((s.newest for s in signs if s.newest is not None), default=None)
    return Writer(_family(oldest, newest), oldest, newest, index_offsets, tuple(signs))


def _family(oldest: Release | None, newest: Release | None) -> str:
    if oldest is not None and newest is not None and oldest > newest:
        return UNKNOWN
    if newest is not None:
        if newest < (0, 10):
            return BEFORE_0_10
        if newest <= (1, 1):
            return V0_11_TO_1_1 if oldest is not None and oldest >= (0, 11) else UP_TO_1_1
    for least, family in (((3, 1), SINCE_3_1), ((2, 8), SINCE_2_8), ((2, 0), SINCE_2_0)):
        if oldest is not None and oldest >= least:
            return family
    return UNKNOWN


def _signs_of_batches(batches: list[Batch]) -> Iterator[Sign]:
    magics = {batch.magic for batch in batches}
    if 0 in magics:
        yield _FORMAT_0
    if 1 in magics:
        yield Sign("messages of format 1", oldest=(0, 10), newest=(3, 9))
    if 2 in magics:
        yield Sign("batches of format 2", oldest=(0, 11))
    if any(batch.magic == 2 and batch.attributes & DELETE_HORIZON_BIT for batch in batches):
        yield Sign("a delete horizon", oldest=(3, 1))


def _first_batches(evidence: Evidence) -> Iterator[Batch]:
    position = 0
    for _ in range(_SAMPLE):
        batch = _batch_at(evidence, position)
        if batch is None:
            return
        yield batch
        position = batch.next_position


def _batch_at(evidence: Evidence, position: int) -> Batch | None:
    """The batch whose header is at a byte, None where there is none."""
    remaining = evidence.size - position
    if position < 0 or remaining <= 0:
        return None
    header = evidence.read(position, HEADER_BYTES)
    return None if fault_at(header, 0, remaining) else parse_batch(header, 0, position)


def _offsets_named(segment: Segment, log: Evidence) -> str | None:
    """FIRST, LAST or MIXED, by the index's entries for batches of several records; None if there are none.

    A follower's entry may have a later batch's last offset (before KAFKA-806 an append wrote one entry at most): it
    counts as LAST. An uncompressed message of format 0 or 1 has a single offset and is ignored.
    """
    file = segment.file(OFFSET)
    if file is None:
        return None
    width = OFFSET_INDEX.size
    seen: Counter[str] = Counter()
    with file.open() as evidence:
        entries = extent_of(OFFSET_INDEX, evidence, search=True).entries
        rows = dict.fromkeys([*range(min(entries, _SAMPLE)), *range(max(0, entries - _SAMPLE), entries)])
        for slot in rows:
            stored = OFFSET_INDEX.struct.unpack(evidence.read(slot * width, width))
            offset, position = OFFSET_INDEX.key_and_value(stored, segment.base_offset)
            batch = _batch_at(log, position)
            if batch is None:
                continue
            if batch.magic < 2:  # a compressed message has the offset of the last one inside
                seen[FIRST] += offset < batch.base_offset
            elif batch.last_offset > batch.base_offset:
                seen[FIRST] += offset == batch.base_offset
                seen[LAST] += offset >= batch.last_offset
    if seen[FIRST] and seen[LAST]:
        return MIXED
    return FIRST if seen[FIRST] else LAST if seen[LAST] else None
