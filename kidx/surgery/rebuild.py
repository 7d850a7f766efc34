"""Rebuilding the indexes of segments, partitions and log dirs from their logs."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kidx.errors import CannotRead, KidxError, Refused, UsageError, WrongFormat
from kidx.evidence import INDEX_BYTES, from_bytes, is_directory, must_exist, open_evidence, read_file
from kidx.formats.indexes import (
    DEFAULT_INDEX_INTERVAL_BYTES,
    DEFAULT_MAX_INDEX_BYTES,
    INDEX_OF_KIND,
    OFFSET_INDEX,
    TIME_INDEX,
    decode,
    extent_of,
)
from kidx.formats.producer_snapshot import parse_snapshot
from kidx.logdir.names import LOG, OFFSET, PRODUCER_SNAPSHOT, TIME, TRANSACTION, parse_file_name
from kidx.logdir.tree import Partition, Segment, partitions_below
from kidx.segments.scan import scan
from kidx.surgery.batch_facts import read_facts
from kidx.surgery.recovered_transactions import EventReader, OpenTransactions, RecoveredTransactions
from kidx.surgery.recovery import Recovered, recover
from kidx.surgery.replace import Change, open_current

if TYPE_CHECKING:
    from kidx.evidence import Evidence
    from kidx.segments.windows import Ints

_SUFFIXES = {OFFSET: ".index", TIME: ".timeindex", TRANSACTION: ".txnindex"}


class Target(NamedTuple):
    """A segment to rebuild; `below` is the path of its files within an output directory."""

    partition: Partition
    segment: Segment
    below: str


class Rebuilt(NamedTuple):
    """A segment's new indexes. `log_path` is its log's; `new` holds the bytes by kind, a transaction index only where
    there is one. `notes` says where the log breaks off and how transactions were found. `log_changed`: something wrote
    the log while it was read.
    """

    target: Target
    log_path: str
    recovered: Recovered
    new: dict[str, bytes]
    notes: str
    log_changed: bool


def targets_of(path: str) -> Iterator[Target]:
    """The segments that a path stands for: a segment's .log or index, a partition, or a tree of partitions.

    Raises UsageError for a path that is none of these, CannotRead for one that is not there.
    """
    if is_directory(path):
        yield from _targets_below(path)
        return
    name = parse_file_name(path)
    if name is None or name.base_offset is None or name.kind not in (LOG, *_SUFFIXES):
        must_exist(path)
        raise UsageError(f"{path}: neither a segment (a .log or one of its indexes) nor a directory of segments")
    partition = Partition(os.path.dirname(path) or ".")
    for segment in partition.segments:
        if segment.base_offset == name.base_offset:
            yield Target(partition, segment, _name_of(partition.directory))
            return
    raise CannotRead(f"{path}: its segment has no .log there, and indexes are rebuilt from the log alone")


def _targets_below(path: str) -> Iterator[Target]:
    found = False
    for partition in partitions_below(path):
        inside = os.path.relpath(partition.directory, path)
        below = _name_of(path) if inside == "." else inside
        for segment in partition.segments:
            found = True
            yield Target(partition, segment, below)
    if not found:
        raise CannotRead(f"{path}: no segment (a .log file) in or below it")


def _name_of(directory: str) -> str:
    return os.path.basename(os.path.abspath(directory))


def rebuild(
    target: Target,
    interval_bytes: int = DEFAULT_INDEX_INTERVAL_BYTES,
    max_index_size: int = DEFAULT_MAX_INDEX_BYTES,
    jobs: int = 1,
) -> Rebuilt:
    """Work out a segment's indexes from its log and the producer state before it, by `jobs` processes if it is large.

    Nothing is written.

    Raises CannotRead for the log, Refused where an index would have more entries than `max_index_size` bytes hold:
    recovery fails there too.
    """
    segment = target.segment
    state = _StateBefore(target.partition, segment)
    log_path = segment.files[LOG].path
    with open_evidence(log_path) as log:
        transactions = RecoveredTransactions(state.open_transactions)
        facts = read_facts(log, segment.base_offset, interval_bytes, _positions(segment), jobs)
        recovered = recover(facts, interval_bytes, transactions)
        size, log_changed = log.size, log.changed()
    _refuse_overfull(log_path, recovered, max_index_size)
    new = {OFFSET: recovered.offset_index, TIME: recovered.time_index}
    if recovered.transaction_index or TRANSACTION in segment.files:
        new[TRANSACTION] = recovered.transaction_index
    notes = [] if recovered.broken is None else [_breaks_off(recovered, size)]
    if log_changed:
        notes.append(f"the log changed while it was read: indexed as of its first {size:,} bytes")
    return Rebuilt(target, log_path, recovered, new, "; ".join(notes + state.notes), log_changed)


def changes_in_place(rebuilt: Rebuilt, sound: Container[str] = ()) -> Iterator[Change]:
    """The changes that put the new indexes where the segment's are; those whose paths are in `sound` stay as they are.

    A sound index that ends long before the new one is replaced all the same. Raises Refused for a link, or for a log
    that is being written.
    """
    if rebuilt.log_changed:
        raise Refused(f"{rebuilt.log_path}: something wrote it while it was read; its indexes were left as they are")
    stem = os.path.splitext(rebuilt.log_path)[0]
    for kind, data in rebuilt.new.items():
        path = stem + _SUFFIXES[kind]
        before = open_current(path)
        keep = before is not None and path in sound and not _ends_early(kind, before, data)
        yield Change(path, "rebuild", before, before if keep else from_bytes(data, path))


def _ends_early(kind: str, before: Evidence, data: bytes) -> bool:
    """Whether an index has no entries where the new one has some, or was cut: two or more entries are missing at its
    end, over more than twice as many offsets as between any two of its own. Entries further apart than in the new index
    are sound: index.interval.bytes may have changed.
    """
    index_format = INDEX_OF_KIND[kind]
    extent = extent_of(index_format, before, search=True)
    if not extent.entries or not index_format.relative:
        return not extent.entries and bool(data)
    if extent.entries * index_format.size > INDEX_BYTES:
        return False
    import numpy as np

    old = decode(index_format, before.read(0, extent.entries * index_format.size))["relative_offset"]
    new = decode(index_format, data)["relative_offset"]
    missing = int((new > old[-1]).sum())
    return missing > 1 and int(new[-1] - old[-1]) > 2 * int(np.diff(old, prepend=0).max())


def changes_apart(rebuilt: Rebuilt, output: str) -> Iterator[Change]:
    """The changes that put the new indexes under an output directory."""
    stem = os.path.join(output, rebuilt.target.below, os.path.basename(os.path.splitext(rebuilt.log_path)[0]))
    for kind, data in rebuilt.new.items():
        if data or kind != TRANSACTION:  # Kafka makes a transaction index with its first entry
            path = stem + _SUFFIXES[kind]
            yield Change(path, "rebuild", None, from_bytes(data, path))


def _breaks_off(recovered: Recovered, size: int) -> str:
    left = size - recovered.valid_bytes
    return (
        f"the log breaks off at byte {recovered.valid_bytes}: {recovered.broken}; indexed up to there "
        f"({recovered.batches:,} batches), the {left:,} bytes after it left alone (a broker may cut them off)"
    )


def _refuse_overfull(log_path: str, recovered: Recovered, max_index_size: int) -> None:
    """Raises Refused where indexes of that size have too little room: LogSegment.recover fails there, too.

    When it appends the last offset entry, the time index, too, must have a slot left besides the reserved one.
    """
    offsets, times = len(recovered.offset_index) // OFFSET_INDEX.size, len(recovered.time_index) // TIME_INDEX.size
    room, time_room = max_index_size // OFFSET_INDEX.size, max_index_size // TIME_INDEX.size
    if offsets > room:
        what = f"its {OFFSET_INDEX.name} would have {offsets:,} entries, and {max_index_size} bytes hold {room:,}"
    elif times > time_room or (offsets and recovered.times_checked >= time_room - 1):
        what = (
            f"its {TIME_INDEX.name} would have {times:,} entries, and {max_index_size} bytes hold {time_room:,}, the "
            "last kept for the roll"
        )
    else:
        return
    larger = "a larger --index-interval-bytes makes fewer, a larger --max-index-size holds more"
    raise Refused(f"{log_path}: {what}; a broker's recovery fails here; {larger}")


def _positions(segment: Segment) -> Ints | None:
    """The positions of the existing index, as starting points for reading the log; damaged ones do no harm."""
    file = segment.file(OFFSET)
    if file is None:
        return None
    try:
        return decode(OFFSET_INDEX, read_file(file.path, INDEX_BYTES), names=("position",))["position"]
    except KidxError:
        return None


class _StateBefore:
    """The transactions that were open when a segment began, and in `notes` how that was found out.

    As a broker does at start (UnifiedLog.rebuildProducerState): from the producer snapshot of that offset, else from
    the newest sound one before it and the batches in between, else from all batches before.
    """

    def __init__(self, partition: Partition, segment: Segment) -> None:
        self._partition, self._segment = partition, segment
        self.notes: list[str] = []

    def open_transactions(self) -> OpenTransactions:
        """The first offset of the open transaction of each producer that has one."""
        base = self._segment.base_offset
        start, found = self._newest_snapshot()
        earlier = [s for s in self._partition.segments if s.base_offset < base]
        replayed = [s for s, following in pairwise([*earlier, self._segment]) if following.base_offset > start]
        if start == base or not replayed:
            return found
        state = RecoveredTransactions(lambda: found)
        for segment in replayed:
            with segment.files[LOG].open() as log:
                events = EventReader(log)
                for window in scan(log, check_crc=False):
                    state.add(events.read(window, len(window), from_offset=start))
        self.notes.append(
            f"there is no sound producer snapshot of offset {base}, so open transactions were found by reading "
            f"{len(replayed)} earlier segment{'' if len(replayed) == 1 else 's'}"
        )
        return state.open_after()

    def _newest_snapshot(self) -> tuple[int, OpenTransactions]:
        """The newest sound snapshot up to the segment's base offset: its offset (-1: none), its open transactions."""
        snapshots = [s for s in self._partition.all_segments if not s.state and PRODUCER_SNAPSHOT in s.files]
        for candidate in reversed([s for s in snapshots if s.base_offset <= self._segment.base_offset]):
            path = candidate.files[PRODUCER_SNAPSHOT].path
            try:
                snapshot = parse_snapshot(read_file(path))
            except WrongFormat:
                continue
            if snapshot.crc_ok:
                opened = {p.producer_id: p.current_txn_first_offset for p in snapshot.producers}
                return candidate.base_offset, {i: first for i, first in opened.items() if first >= 0}
        return -1, {}
