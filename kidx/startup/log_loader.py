"""One partition's start: which files go, which segments are recovered, where the log begins and ends.

Source: org.apache.kafka.storage.internals.log.LogLoader (kafka.log.LogLoader, and kafka.log.Log in 2.8). The directory
is followed in memory: `files` has each name with the bytes behind it, and changes as Kafka would change the directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeVar

from kidx.evidence import INDEX_BYTES, Entry, file_size, open_evidence
from kidx.formats.indexes import MAX_RELATIVE_OFFSET, TRANSACTION_INDEX
from kidx.logdir.log_dir import METADATA_TOPIC
from kidx.startup.behaviours import BEHAVIOURS, Behaviour
from kidx.startup.kafka_names import CLEANED, DELETED, INDEX_SUFFIXES, SWAP, file_of, offset_of
from kidx.startup.log_segment import (
    Bytes,
    Header,
    OpenLog,
    read_next_offset,
    records_from,
    recover,
    translate,
)
from kidx.startup.outcome import (
    CREATE,
    DELETE,
    IGNORE,
    REBUILD,
    RECOVER,
    RENAME,
    TRUNCATE,
    Action,
    BrokerRefuses,
    PartitionStart,
)
from kidx.startup.producer_state import ProducerStates, Snapshots
from kidx.startup.versions import BrokerVersion

T = TypeVar("T")
_EMPTY = Bytes(None)
_MOST_OFFSET = 2**63 - 1
_KRAFT_SNAPSHOT_DELETED = ".checkpoint.deleted"


class LogSettings(NamedTuple):
    """What LogManager hands to a log: offsets of the checkpoints, the mark, index.interval.bytes."""

    clean: bool
    recovery_point: int
    log_start_offset: int
    index_interval_bytes: int
    to_be_deleted: bool = False


class LoadedLog(NamedTuple):
    """A partition after its start, and what was done to its files."""

    start: PartitionStart
    actions: list[Action]


class _Overflow(Exception):
    def __init__(self, base_offset: int) -> None:
        super().__init__(base_offset)
        self.base_offset = base_offset


class _Segment:
    """A loaded segment. `end_offset` is known once it was recovered, when its index leads to every batch."""

    __slots__ = ("end_offset", "index", "log")

    def __init__(self, log: Bytes, index: str | None) -> None:
        self.log, self.index = log, index
        self.end_offset: int | None = None


def load_log(
    log_dir: str, name: str, entries: Collection[Entry], settings: LogSettings, version: BrokerVersion
) -> LoadedLog:
    """Load one partition's directory. Raises BrokerRefuses, LogDirFails; CannotRead where kidx cannot read a file."""
    return _LogLoader(log_dir, name, entries, settings, version).load()


class _LogLoader:
    def __init__(
        self, log_dir: str, name: str, entries: Collection[Entry], settings: LogSettings, version: BrokerVersion
    ) -> None:
        self.log_dir, self.name, self.settings, self.version = log_dir, name, settings, version
        self.directory = os.path.join(log_dir, name)
        self.files = {e.name: Bytes(os.path.join(self.directory, e.name)) for e in entries if e.is_file()}
        self.before = dict(self.files)
        self.segments: dict[int, _Segment] = {}
        self.actions: list[Action] = []
        self.recovered: list[int] = []
        self.bytes_read = 0
        self.log_start = settings.log_start_offset
        self.snapshots_gone: dict[int, Behaviour] = {}
        self.lost: dict[str, tuple[Behaviour, int | None]] = {}  # of the logs that get shorter
        self.snapshots: Snapshots = {
            offset_of(n, n): self._path(n) for n in self.files if n.endswith(".snapshot") and n[:-9].isdecimal()
        }

    def load(self) -> LoadedLog:
        """LogLoader.load."""
        producers = ProducerStates(self.snapshots, self._snapshot_deleted)
        swaps = self._remove_temporary_files()
        if self.version.swap_replaces_by_range:
            self._rename_swap_files(swaps)
        self._retry_on_overflow(self._load_segment_files)
        if not self.version.swap_replaces_by_range:
            self._recover_swap_files(swaps)
        if self.settings.to_be_deleted:
            if not self.segments:
                self._create_segment(0)
            recovery_point = end = 0
        else:
            recovery_point, end = self._retry_on_overflow(self._recover_log)
            self._report_missing_offsets(end)
        log_start = max(self.settings.log_start_offset, min(self.segments))
        self.log_start = log_start
        producers.remove_stray(self.segments)
        self._rebuild_producer_state(producers, end, clean=self.settings.clean)
        self._report_snapshots()
        self._report_lengths()
        recovered = tuple(dict.fromkeys(self.recovered))
        start = PartitionStart(
            self.log_dir, self.name, log_start, end, recovery_point, len(self.segments), recovered, self.bytes_read
        )
        return LoadedLog(start, self.actions)

    # ---- left-over files

    def _remove_temporary_files(self) -> list[str]:
        """removeTempFilesAndCollectSwapFiles: the swap files that stay."""
        names, cleaned, swaps = list(self.files), [], []
        for name in names:
            if name.endswith(DELETED) and not name.endswith(_KRAFT_SNAPSHOT_DELETED):
                self._delete(name, "left-over")
            elif name.endswith(CLEANED):
                cleaned.append(name)
            elif name.endswith(SWAP):
                swaps.append(name)
        if not self.version.swap_replaces_by_range:
            swaps = self._delete_indexes_of_swaps(swaps)
        smallest = min((offset_of(name, self._path(name)) for name in cleaned), default=_MOST_OFFSET)
        invalid = [name for name in swaps if offset_of(name, self._path(name)) >= smallest] if cleaned else []
        for name in invalid:
            self._delete(name, "swap-dropped")
            if not self.version.swap_replaces_by_range:
                for suffix in INDEX_SUFFIXES:
                    self._delete(file_of(offset_of(name, name), suffix) + SWAP, "swap-dropped")
        for name in cleaned:
            self._delete(name, "left-over")
        return [name for name in swaps if name not in invalid]

    def _delete_indexes_of_swaps(self, swaps: Sequence[str]) -> list[str]:
        """2.8: the indexes of a swapped segment are deleted, to be built again; the .log.swap files stay."""
        logs = []
        for name in swaps:
            base = name.removesuffix(SWAP)
            if base.endswith((*INDEX_SUFFIXES, ".log")):
                for suffix in INDEX_SUFFIXES:
                    self._delete(file_of(offset_of(name, self._path(name)), suffix), "swap-replaces")
                if base.endswith(".log"):
                    logs.append(name)
        return logs

    def _rename_swap_files(self, swaps: Sequence[str]) -> None:
        """The second and third pass of load: delete the segments in the range of the swaps, rename the swaps."""
        low, high = _MOST_OFFSET, -_MOST_OFFSET
        for name in swaps:
            stem = name.removesuffix(SWAP)
            if stem.endswith(".log"):
                base = offset_of(name, self._path(name))
                index = self._source(file_of(base, ".index") + SWAP)
                end = read_next_offset(self.files[name], index, base, self._path(name))
                low, high = min(base, low), max(end.offset, high)
                if end.torn_bytes:
                    self._report_torn_tail(name, self.files[name], end.torn_bytes, base)
        for name in list(self.files):
            digits = name.partition(".")[0]
            if not name.endswith(SWAP) and "." in name and digits.isdecimal() and low <= int(digits) < high:
                if name.endswith(".snapshot"):
                    self._drop_snapshot(int(digits), "swap-replaces")
                else:
                    self._delete(name, "swap-replaces")
        for name in swaps:
            self._rename(name, name.removesuffix(SWAP), "swap-replaces")

    def _recover_swap_files(self, swaps: Sequence[str]) -> None:
        """2.8's completeSwapOperations: recover each swap, then put it in the place of the segments it covers."""
        for name in swaps:
            base = offset_of(name, self._path(name))
            recovery = recover(self.files[name], base, self.settings.index_interval_bytes)
            self.bytes_read += recovery.size
            covered = [b for b in self.segments if base <= b < recovery.end_offset]
            for each in covered:
                del self.segments[each]
                for suffix in (".log", *INDEX_SUFFIXES):
                    self._mark_deleted(file_of(each, suffix), "swap-replaces")
                if each != base:
                    self._drop_snapshot(each, "swap-replaces")
            self.files[file_of(base, ".log")] = Bytes(self.files.pop(name).path, 0, recovery.valid_bytes)
            self._act(RENAME, "swap-replaces", f"becomes {file_of(base, '.log')}", name, segment=base)
            for suffix in INDEX_SUFFIXES:
                self._delete(file_of(base, suffix) + SWAP, "swap-replaces")
            segment = self.segments[base] = _Segment(self.files[file_of(base, ".log")], None)
            segment.end_offset = recovery.end_offset
            self.files[file_of(base, ".index")] = self.files[file_of(base, ".timeindex")] = _EMPTY

    # ---- segments

    def _load_segment_files(self) -> None:
        """loadSegmentFiles: in the order of names."""
        self.segments.clear()
        holes = []
        for name in sorted(self.files):
            if name.endswith(INDEX_SUFFIXES):
                base = offset_of(name, self._path(name))
                if file_of(base, ".log") not in self.files:
                    self._delete(name, "orphaned-index")
                    if name.endswith(".index"):
                        holes.append(base)
            elif name.endswith(".log"):
                self._load_segment(offset_of(name, self._path(name)), name)
        for base in holes:
            following = min((b for b in self.segments if b > base), default=base)
            if following > base and base not in self.segments:
                why = f"its .log is gone: nothing reports that offsets {base} to {following - 1} are missing"
                self._act(IGNORE, "orphaned-index", why, file_of(base, ".log"), lost=following - base)

    def _load_segment(self, base: int, name: str) -> None:
        log, index, times = (file_of(base, suffix) for suffix in (".log", ".index", ".timeindex"))
        if log not in self.files:
            self.files[log] = _EMPTY
            self._act(
                CREATE, "name-not-20-digits", f"opened for {name}, whose records are gone from view", log, 0, base
            )
            self._act(IGNORE, "name-not-20-digits", "its name has fewer than 20 digits", name, segment=base,
                      lost=records_from(self.files[name]))  # fmt: skip
        segment = _Segment(self.files[log], self._source(index))
        known = self.files.get(index) == _EMPTY  # built in this start
        if index not in self.files:
            self._recover_segment(base, segment, REBUILD, "index-missing")
        elif self._transaction_index_is_corrupt(base):
            self._recover_segment(base, segment, REBUILD, "transaction-index-corrupt")
        elif known:
            segment.end_offset = self._walked_end(segment, base)
        if times not in self.files:
            self._act(CREATE, "time-index-missing", "made empty", times, 0, base)
            self.files[times] = _EMPTY
        self.segments[base] = segment

    def _transaction_index_is_corrupt(self, base: int) -> bool:
        path = self._source(file_of(base, ".txnindex"))
        if path is None:
            return False
        with open_evidence(path) as evidence:
            evidence.must_be_written(evidence.size)
            data = evidence.read_all(INDEX_BYTES)
        whole = len(data) // TRANSACTION_INDEX.size * TRANSACTION_INDEX.size
        last_offset = TRANSACTION_INDEX.columns.index("last_offset")
        return any(entry[last_offset] < base for entry in TRANSACTION_INDEX.struct.iter_unpack(data[:whole]))

    def _recover_segment(self, base: int, segment: _Segment, action: str, behaviour: str) -> int:
        """recoverSegment: bytes cut. Offsets that go back are an exception, which only recoverLog catches."""
        producers = ProducerStates(self.snapshots, self._snapshot_deleted)
        self._rebuild_producer_state(producers, base, clean=False)
        recovery = recover(segment.log, base, self.settings.index_interval_bytes)
        self.bytes_read += recovery.size
        log = file_of(base, ".log")
        why = "its indexes are built from the log" if action == REBUILD else "read, and its indexes built again"
        self._act(action, behaviour, why, log, recovery.size, base, before=recovery.size)
        if recovery.overflow:
            raise _Overflow(base)
        kept = recovery.valid_bytes
        if recovery.offsets_go_back:
            if action == REBUILD:
                message = f"org.apache.kafka.common.errors.InvalidOffsetException: in {self._path(log)}"
                raise BrokerRefuses(BEHAVIOURS["offsets-go-back"], message, self._path(log))
            kept, end = 0, base
        else:
            end = recovery.end_offset
            producers.map_end_offset = max(producers.map_end_offset, end)
            producers.take_snapshot()
        cut = recovery.size - kept
        if cut:
            reason = BEHAVIOURS["offsets-go-back" if recovery.offsets_go_back else "cut"]
            self.lost[log] = reason, records_from(segment.log, kept)
        segment.log = Bytes(segment.log.path, segment.log.start, segment.log.start + kept)
        segment.index, segment.end_offset = None, end
        self.files[log] = segment.log if cut else self.files[log]
        for suffix in (".index", ".timeindex"):
            self.files[file_of(base, suffix)] = _EMPTY
        return cut

    def _recover_log(self) -> tuple[int, int]:
        """recoverLog: the recovery point and the log end offset afterwards."""
        settings = self.settings
        if not settings.clean:
            unflushed = self._values(settings.recovery_point, _MOST_OFFSET)
            behaviour = "metadata-recovered" if self.name.startswith(METADATA_TOPIC) else "recovered"
            for at, base in enumerate(unflushed):
                self.recovered.append(base)
                if self._recover_segment(base, self.segments[base], RECOVER, behaviour):
                    for later in unflushed[at + 1 :]:
                        self._drop_segment(later, "later-segments-dropped")
                    break
        end = None
        if self.segments:
            end = self._log_end()
            if end < settings.log_start_offset:
                for base in list(self.segments):
                    self._drop_segment(base, "log-start-ahead")
                ProducerStates(self.snapshots, self._snapshot_deleted).truncate_fully(settings.log_start_offset)
                end = None
        if not self.segments:
            self._create_segment(settings.log_start_offset)
        if settings.clean and end is not None:
            return end, end
        end = self._log_end() if end is None else end
        return min(settings.recovery_point, end), end

    def _log_end(self) -> int:
        """The last segment's readNextOffset."""
        base = max(self.segments)
        segment = self.segments[base]
        if segment.end_offset is not None:
            return segment.end_offset
        name = file_of(base, ".log")
        end = read_next_offset(segment.log, segment.index, base, self._path(name))
        if end.position is None and (lost := records_from(segment.log)) != 0:
            self._act(IGNORE, "log-end-falls", f"the log end falls to {base}: batches stay in the file, unseen", name,
                      segment=base, lost=lost)  # fmt: skip
        elif end.torn_bytes:
            self._report_torn_tail(name, segment.log, end.torn_bytes, base)
        segment.end_offset = end.offset
        return end.offset

    def _report_torn_tail(self, name: str, log: Bytes, torn_bytes: int, base: int) -> None:
        lost = records_from(log, _size(log) - torn_bytes)
        why = f"{torn_bytes} bytes of a torn batch stay at the end"
        self._act(IGNORE, "torn-not-seen", why, name, segment=base, lost=lost)

    def _create_segment(self, base: int) -> None:
        name = file_of(base, ".log")
        self._act(CREATE, "empty-log", "an empty log", name, 0, base)
        self.files[name] = self.files[file_of(base, ".index")] = self.files[file_of(base, ".timeindex")] = _EMPTY
        segment = self.segments[base] = _Segment(_EMPTY, None)
        segment.end_offset = base

    def _drop_segment(self, base: int, behaviour: str) -> None:
        segment = self.segments.pop(base)
        lost = records_from(segment.log)
        for suffix in (".log", *INDEX_SUFFIXES):
            self._mark_deleted(file_of(base, suffix), behaviour, lost if suffix == ".log" else 0)
        self._drop_snapshot(base, behaviour)

    # ---- offsets that do not fit

    def _retry_on_overflow(self, step: Callable[[], T]) -> T:
        while True:
            try:
                return step()
            except _Overflow as e:
                self._split(e.base_offset)
                self._load_segment_files()

    def _split(self, base: int) -> None:
        """splitOverflowedSegment: a new segment wherever an offset does not fit."""
        name = file_of(base, ".log")
        with OpenLog(self.files[name]) as log:
            headers = list(log.headers(0, self._path(name)))
        end = headers[-1].last_offset + 1 if headers else base
        if not (end > base and end - 1 - base > MAX_RELATIVE_OFFSET):
            message = (
                "java.lang.IllegalArgumentException: Split operation is only permitted for segments with overflow, and "
                f"the problem path is {self._path(name)}"
            )
            raise BrokerRefuses(BEHAVIOURS["overflow-refused"], message, self._path(name))
        source = self.files[name]
        for suffix in (".log", *INDEX_SUFFIXES):
            self._mark_deleted(file_of(base, suffix), "overflow-split")
        for first, after in _parts_that_fit(headers):
            self.files[file_of(first, ".log")] = Bytes(source.path, source.start + after[0], source.start + after[1])
            self.files[file_of(first, ".index")] = self.files[file_of(first, ".timeindex")] = _EMPTY
            if first != base:
                self._act(
                    CREATE, "overflow-split", f"split from {base}", file_of(first, ".log"), after[1] - after[0], first
                )

    # ---- producer state

    def _rebuild_producer_state(self, producers: ProducerStates, until: int, *, clean: bool) -> None:
        """UnifiedLog.rebuildProducerState."""
        bases = sorted(self.segments)
        written_at = sorted({*bases[-2:], until})
        if clean and not self.snapshots:
            for offset in written_at:
                producers.map_end_offset = offset
                producers.take_snapshot()
            return
        nothing_known = producers.map_end_offset >= until
        producers.truncate_and_reload(self.log_start, until)
        if until > producers.map_end_offset and not nothing_known:
            for base in self._values(producers.map_end_offset, until):
                start = max(base, producers.map_end_offset, self.log_start)
                producers.map_end_offset = start
                if base in written_at:
                    producers.take_snapshot()
                self._read_producers(base, start, until)
        producers.map_end_offset = until
        producers.take_snapshot()

    def _read_producers(self, base: int, start: int, until: int) -> None:
        """The headers that loadProducersFromRecords reads; what is no batch ends the broker."""
        segment = self.segments[base]
        position = translate(segment.log, segment.index, base, start) if start > base else 0
        if position is None:
            return
        stop = None
        if base == max(b for b in self.segments if b <= until):
            stop = translate(segment.log, segment.index, base, until)
        with OpenLog(segment.log) as log:
            stop = log.size if stop is None else stop
            self.bytes_read += max(0, stop - position)
            for header in log.headers(position, self._path(file_of(base, ".log"))):
                if header.position >= stop:
                    break

    def _values(self, start: int, end: int) -> list[int]:
        """LogSegments.values: the segments from the one that holds an offset to another."""
        bases = sorted(self.segments)
        first = max((b for b in bases if b <= start), default=None)
        return [b for b in bases if b < end and (first is None or b >= first)] if start < end else []

    def _walked_end(self, segment: _Segment, base: int) -> int:
        with OpenLog(segment.log) as log:
            return max((h.last_offset + 1 for h in log.headers()), default=base)

    # ---- what is reported

    def _report_snapshots(self) -> None:
        """What is left of the snapshots: those that are deleted and written again are only written."""
        before = {offset_of(n, n) for n in self.before if n.endswith(".snapshot") and n[:-9].isdecimal()}
        for offset in sorted(before - self.snapshots.keys()):
            behaviour = self.snapshots_gone.get(offset, BEHAVIOURS["snapshot-stray"])
            self._act(DELETE, behaviour.name, "producer snapshot", file_of(offset, ".snapshot"))
        for offset in sorted(o for o, path in self.snapshots.items() if path is None):
            action, why = (REBUILD, "producer state, written again") if offset in before else (CREATE, "producer state")
            corrupt = self.snapshots_gone.get(offset) == BEHAVIOURS["snapshot-corrupt"]
            self._act(action, "snapshot-corrupt" if corrupt else "snapshot-written", why, file_of(offset, ".snapshot"))

    def _report_missing_offsets(self, end: int) -> None:
        """Offsets below the recovery point were flushed once: where the log ends earlier, they are gone."""
        known = sum(action.records_lost or 0 for action in self.actions if action.action == IGNORE)
        known += sum(count or 0 for _, count in self.lost.values())
        missing = self.settings.recovery_point - max(end, self.settings.log_start_offset) - known
        if missing > 0:
            why = (
                f"the log ends at {end}, and its recovery point was {self.settings.recovery_point}; nothing reports it"
            )
            name = file_of(max(self.segments), ".log")
            self._act(IGNORE, "ends-below-recovery-point", why, name, lost=missing)

    def _report_lengths(self) -> None:
        """A log whose length changes, by a cut or because other bytes take its place."""
        for name, source in self.before.items():
            now = self.files.get(name)
            if not name.endswith(".log") or now is None or now is source or now == source:
                continue
            before, after = file_size(self._path(name)), _size(now)
            if before != after:
                behaviour, lost = self.lost.get(name, (BEHAVIOURS["swap-replaces"], 0))
                why = f"{'cut' if after < before else 'replaced'}: {before:,} to {after:,} bytes"
                where = (self.log_dir, self.name, offset_of(name, name), self._path(name))
                self.actions.append(Action(TRUNCATE, behaviour, why, *where, before, after, lost))

    def _snapshot_deleted(self, offset: int, why: Behaviour) -> None:
        self.snapshots_gone[offset] = why

    def _drop_snapshot(self, offset: int, why: str) -> None:
        """The snapshot at a segment's base goes with the segment."""
        if offset in self.snapshots:
            del self.snapshots[offset]
            self.snapshots_gone[offset] = BEHAVIOURS[why]

    def _delete(self, name: str, behaviour: str) -> None:
        if self.files.pop(name, None) is not None:
            self._act(DELETE, behaviour, "deleted", name)

    def _rename(self, name: str, target: str, behaviour: str) -> None:
        self.files[target] = self.files.pop(name)
        self._act(RENAME, behaviour, f"becomes {target}", name)

    def _mark_deleted(self, name: str, behaviour: str, lost: int | None = 0) -> None:
        if self.files.pop(name, None) is not None:
            self._act(RENAME, behaviour, f"becomes {name}{DELETED}", name, lost=lost)

    def _act(
        self,
        action: str,
        behaviour: str,
        why: str,
        name: str,
        after: int | None = None,
        segment: int | None = None,
        *,
        before: int | None = None,
        lost: int | None = 0,
    ) -> None:
        if segment is None and name[:20].isdecimal():
            segment = int(name[:20])
        where = (self.log_dir, self.name, segment, self._path(name))
        self.actions.append(Action(action, BEHAVIOURS[behaviour], why, *where, before, after, lost))

    def _path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def _source(self, name: str) -> str | None:
        source = self.files.get(name)
        return source.path if source is not None else None


def _parts_that_fit(headers: Sequence[Header]) -> list[tuple[int, tuple[int, int]]]:
    """Base offset, first byte and end of each part: a part ends where an offset does not fit its base."""
    parts: list[tuple[int, tuple[int, int]]] = []
    for header in headers:
        end = header.position + header.size
        if parts and 0 <= header.last_offset - parts[-1][0] <= MAX_RELATIVE_OFFSET:
            parts[-1] = parts[-1][0], (parts[-1][1][0], end)
        else:
            parts.append((header.base_offset, (header.position, end)))
    return parts


def _size(source: Bytes) -> int:
    with OpenLog(source) as log:
        return log.size
