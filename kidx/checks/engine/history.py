"""A partition's transactions and producers, replayed in order, to check indexes and snapshots against them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.producer_history import ProducerHistory
from kidx.checks.subjects.log_dirs import LogDirs
from kidx.checks.subjects.logs import LogResult, Named
from kidx.checks.subjects.partitions import (
    CheckedSegment,
    OpenTransaction,
    OpenTransactions,
    SegmentTransactions,
    SnapshotClaims,
)
from kidx.checks.subjects.transactions import Aborted, Replay
from kidx.errors import KidxError
from kidx.evidence import INDEX_BYTES, read_file
from kidx.findings import Finding, limited
from kidx.formats.indexes import TRANSACTION_INDEX, decode
from kidx.formats.producer_snapshot import ProducerSnapshot, ProducerState
from kidx.logdir.names import LOG, SEGMENT_SUFFIX, TRANSACTION
from kidx.logdir.tree import DataFile, Partition
from kidx.segments.walk import walk

Snapshots = Mapping[int, tuple[DataFile, ProducerSnapshot]]


def check_history(
    living: Sequence[CheckedSegment],
    snapshots: Snapshots,
    producers: ProducerHistory,
    *,
    compacted: bool,
    live: bool,
    partition: Partition,
    log_dirs: LogDirs,
) -> Iterator[Finding]:
    """Replay the markers of the living segments, in order, and compare indexes and sound snapshots with them.

    `producers` has followed these segments. `snapshots` are by their offsets.
    """
    if not living:
        return
    end: int | None = living[0].segment.base_offset
    replay = Replay()
    if end == 0:
        replay.learn({})
    open_at: dict[int, dict[int, int]] = {}
    named: dict[int, Named] = {}
    offsets = sorted(snapshots)
    for checked in living:
        log, base = checked.log, checked.segment.base_offset
        if end != base and not compacted:
            replay.forget()
        if not replay.complete and base in snapshots:
            replay.learn(_open_in(snapshots[base][1]))
        if log is None or not log.as_written or (log.gaps and not compacted):
            replay.forget()
            end = None
            continue
        end = base if log.last_offset is None else log.last_offset + 1
        path = checked.segment.files[LOG].path
        open_before = dict(replay.open)
        aborted: list[Aborted] = []
        begin = 0
        for offset in [*offsets[bisect_left(offsets, base) : bisect_left(offsets, end)], end]:
            stop = bisect_left(log.events, offset, key=attrgetter("offset"))
            aborted += replay.segment(log.events[begin:stop])
            begin = stop
            if replay.complete:
                open_at[offset] = dict(replay.open)
        index = checked.indexes.get(TRANSACTION)
        transactions = SegmentTransactions(
            path,
            index.path if index else None,
            _listed(checked, log, live=live),
            aborted,
            log.producers,
            log.events,
            open_before,
            compacted,
        )
        yield from limited(findings_about(transactions))
        named.update(log.named)
    if partition.active_segment is not None and (still_open := replay.still_open()):  # else the log goes on elsewhere
        told = [_described(first, producer, living, partition, log_dirs) for first, producer in still_open]
        path = living[-1].segment.files[LOG].path
        yield from limited(findings_about(OpenTransactions(path, told, partition.name, live)))
    yield from _snapshots_against(snapshots, named, producers, open_at, end, compacted=compacted)


def _described(
    first: int, producer: int, living: Sequence[CheckedSegment], partition: Partition, log_dirs: LogDirs
) -> OpenTransaction:
    """What the logs, and the transaction state near them, say about an open transaction."""
    coordinator = log_dirs.coordinated(partition, producer)
    at = next((i for i in range(len(living) - 1, -1, -1) if living[i].segment.base_offset <= first), len(living))
    logs = [checked.log for checked in living[at:] if checked.log is not None]
    if not logs or len(logs) < len(living) - at:
        return OpenTransaction(first, producer, coordinator=coordinator)
    epoch = since = None
    event = next((e for e in logs[0].events if (e.offset, e.producer_id) == (first, producer)), None)
    if event is not None:
        try:
            with living[at].segment.files[LOG].open() as evidence:
                batch = next(walk(evidence, event.position))
            epoch, since = batch.producer_epoch, batch.max_timestamp
        except (KidxError, StopIteration):
            pass
    last = next((log.last_offset for log in reversed(logs) if log.last_offset is not None), None)
    records = None if last is None else last + 1 - first
    held = sum(log.end for log in logs) - (event.position if event else 0)
    return OpenTransaction(first, producer, epoch, since, records, held, coordinator)


def _snapshots_against(
    snapshots: Snapshots,
    named: Mapping[int, Named],
    producers: ProducerHistory,
    open_at: Mapping[int, Mapping[int, int]],
    log_end: int | None,
    *,
    compacted: bool,
) -> Iterator[Finding]:
    """Compare each snapshot with the log, and with the previous snapshot if the log has everything in between."""
    before: dict[int, ProducerState] = {}
    run: int | None = None
    for offset, (file, snapshot) in sorted(snapshots.items(), key=lambda item: item[0]):
        known = producers.known.get(offset)
        if known is None or known.start != run:
            before, run = {}, None if known is None else known.start
        open_there = None if compacted else open_at.get(offset)
        claims = SnapshotClaims(file.path, offset, snapshot, named, known, open_there, before, log_end, compacted)
        found = list(limited(findings_about(claims)))
        yield from found
        wrong = {one.slot for one in found}
        before = {p.producer_id: p for slot, p in enumerate(snapshot.producers) if slot not in wrong}


def _open_in(snapshot: ProducerSnapshot) -> dict[int, int]:
    """First offsets of the transactions that a snapshot lists as open, by producer id."""
    return {p.producer_id: p.current_txn_first_offset for p in snapshot.producers if p.current_txn_first_offset >= 0}


def _listed(checked: CheckedSegment, log: LogResult, *, live: bool) -> list[tuple[int, tuple[int, ...]]]:
    """Slots and fields of a transaction index's entries.

    A running broker may have written markers, and then their entries, between the reading of the index and the log.
    """
    index = checked.indexes.get(TRANSACTION)
    entries: list[tuple[int, tuple[int, ...]]] = []
    if index is not None and index.slots is not None:
        rows = zip(*(values.tolist() for values in index.fields.values()), strict=True)
        entries += zip(index.slots.tolist(), rows, strict=True)
    if live and log.last_offset is not None:
        path = checked.segment.files[LOG].path.removesuffix(SEGMENT_SUFFIX[LOG]) + SEGMENT_SUFFIX[TRANSACTION]
        known = index.extent.entries if index is not None else 0
        entries += [e for e in _entries_after(path, known) if e[1][3] <= log.last_offset]
    return entries


def _entries_after(path: str, count: int) -> list[tuple[int, tuple[int, ...]]]:
    """Slots and fields of the entries that a transaction index has after its first `count`."""
    try:
        data = read_file(path, INDEX_BYTES)
    except KidxError:
        return []
    width = TRANSACTION_INDEX.size
    fields = decode(TRANSACTION_INDEX, data[count * width : len(data) // width * width], 0)
    return list(enumerate(zip(*(values.tolist() for values in fields.values()), strict=True), count))
