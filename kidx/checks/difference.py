"""What differs between two replicas of a partition, or a directory and its rebuilt self, and what may differ.

Two healthy replicas have the same batches where both have any. They may differ in where logs begin and end, where
segments were cut, how dense their indexes are, and in how far they have been compacted.
"""

from __future__ import annotations

import os
from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from kidx.checks.account import Checked
from kidx.checks.batch_stream import BatchRow, BatchStream
from kidx.checks.index_alone import index_extent
from kidx.checks.snapshots import check_snapshot
from kidx.checks.transaction_index import transaction_extent
from kidx.errors import CannotRead, KidxError, UsageError, WrongFormat
from kidx.evidence import exists, is_directory, read_file
from kidx.formats.checkpoints import EpochStart, parse_leader_epochs, parse_partition_metadata
from kidx.formats.indexes import TIME_INDEX, TRANSACTION_INDEX, decode
from kidx.formats.producer_snapshot import ProducerSnapshot, parse_snapshot
from kidx.formats.records import Record
from kidx.light_typing import Any, NamedTuple, TypeVar
from kidx.logdir.names import INDEX_OF_KIND, LOG, PRODUCER_SNAPSHOT
from kidx.logdir.tree import DataFile, Partition, partitions_below
from kidx.segments.walk import walk

T = TypeVar("T")

_MOST_OF_A_KIND = 1000


class Difference(NamedTuple):
    """One difference: `what` kind it is, `where` (a path below both sides and a place in it), both sides' values.

    `allowed`: healthy replicas may differ like this.
    """

    what: str
    where: str
    left: Any
    right: Any
    allowed: bool


@dataclass(slots=True)
class Compared:
    """The differences of two sides, and what was compared."""

    differences: list[Difference] = field(default_factory=list)
    checked: Checked = field(default_factory=Checked)

    def note(self, what: str, where: str, left: Any, right: Any, *, allowed: bool) -> None:
        """Keep a difference; of one kind at one place no more than a thousand are told."""
        if sum(1 for d in self.differences[-_MOST_OF_A_KIND:] if d.what == what) < _MOST_OF_A_KIND:
            self.differences.append(Difference(what, where, left, right, allowed))


def compare(left: str, right: str) -> Compared:
    """Compare two partitions, two trees of partitions, or two files of one kind.

    Raises UsageError where the two are not of a kind, CannotRead where one is not there. What cannot be read below them
    is in `checked.unread`.
    """
    done = Compared()
    for path in (left, right):
        if not exists(path):
            raise CannotRead(f"{path}: no such file or directory")
    if is_directory(left) != is_directory(right):
        raise UsageError(f"{left} and {right}: a file and a directory cannot be compared; name two of a kind")
    if not is_directory(left):
        _lone_files(left, right, done)
        return done
    sides = [{os.path.relpath(p.directory, top): p for p in partitions_below(top)} for top in (left, right)]
    for name in sorted(sides[0].keys() | sides[1].keys()):
        here, there = sides[0].get(name), sides[1].get(name)
        if here is None or there is None:
            done.note("partition", name, bool(here), bool(there), allowed=False)
        else:
            _Comparison(here, there, "" if name == "." else name, done).run()
    if not sides[0] and not sides[1]:
        raise CannotRead(f"{left} and {right}: neither holds a partition's files")
    return done


def _lone_files(left: str, right: str, done: Compared) -> None:
    partitions = []
    for path in (left, right):
        partition = Partition(os.path.dirname(path))
        file = next((f for f in partition.files if os.path.basename(f.path) == os.path.basename(path)), None)
        if file is None:
            raise CannotRead(f"{path}: no such file, or none of Kafka's by its name")
        alone = Partition(os.path.dirname(path), [])
        alone.files = [file]
        partitions.append(alone)
    if partitions[0].files[0].kind != partitions[1].files[0].kind:
        raise UsageError(f"{left} and {right}: files of different kinds; name two of a kind")
    _Comparison(partitions[0], partitions[1], "", done).run()


class _Comparison:
    """The comparison of one partition's two sides, matter by matter."""

    def __init__(self, left: Partition, right: Partition, name: str, done: Compared) -> None:
        self.left, self.right, self.name, self.done = left, right, name, done
        self.same_logs = True  # as far as both go, so that a batch lies at the same byte in both

    def run(self) -> None:
        """Compare everything that both sides have."""
        before = len(self.done.differences)
        self._logs()
        self.same_logs = all(d.what in ("logs", "log_end", "segments") for d in self.done.differences[before:])
        for kind in INDEX_OF_KIND:
            self._each(kind, self._indexes, missing_allowed=kind == "transaction_index")
        self._each(PRODUCER_SNAPSHOT, self._snapshots, missing_allowed=True)
        self._each("leader_epochs", self._epochs, missing_allowed=False)
        self._each("partition_metadata", self._metadata, missing_allowed=True)

    def _where(self, *parts: str) -> str:
        return " ".join(filter(None, (self.name, *parts)))

    def _each(
        self, kind: str, compare_two: Callable[[str, DataFile, DataFile], None], *, missing_allowed: bool
    ) -> None:
        """Compare the files of one kind pair by pair; where segments are cut differs, so a lone one is allowed."""
        here, there = (
            {os.path.basename(f.path): f for f in p.files if f.kind == kind and not f.name.state}
            for p in (self.left, self.right)
        )
        if len(here) == len(there) == 1:  # two files named on the command line need not have one name
            pairs = [(next(iter(here)), next(iter(here.values())), next(iter(there.values())))]
        else:
            pairs = [(name, here[name], there[name]) for name in sorted(here.keys() & there.keys())]
            for name in sorted(here.keys() ^ there.keys()):
                self.done.note("file", self._where(name), name in here, name in there, allowed=True)
        if bool(here) != bool(there) and not missing_allowed and self.left.segments and self.right.segments:
            self.done.note(kind, self._where(), bool(here), bool(there), allowed=False)
        for name, one, other in pairs:
            try:
                compare_two(name, one, other)
            except KidxError as e:
                self.done.checked.cannot(one.path, str(e))

    def _logs(self) -> None:
        """Batch by batch, across segments: where a segment is cut is each replica's own affair."""
        bases = [[s.base_offset for s in p.segments] for p in (self.left, self.right)]
        if not bases[0] or not bases[1]:  # rebuilt indexes in a directory of their own
            self.done.note("logs", self._where(), len(bases[0]), len(bases[1]), allowed=True)
            return
        if bases[0] != bases[1]:
            self.done.note("segments", self._where(), bases[0], bases[1], allowed=True)
        left, right = (BatchStream(p, self.done.checked) for p in (self.left, self.right))
        alone: list[_Alone] = []
        while True:
            left.skip_equal(right)
            a, b = left.head(), right.head()
            if a is not None and (b is None or a.batch.last_offset < b.batch.base_offset):
                _extend(alone, "left", a)
                left.advance()
            elif b is not None and (a is None or b.batch.last_offset < a.batch.base_offset):
                _extend(alone, "right", b)
                right.advance()
            elif a is None or b is None:
                break
            else:
                self._batches(a, b, left, right)
                if a.batch.last_offset <= b.batch.last_offset:
                    left.advance()
                if b.batch.last_offset <= a.batch.last_offset:
                    right.advance()
        for run in alone:
            self._alone(run, right if run.side == "left" else left)

    def _alone(self, run: _Alone, other: BatchStream) -> None:
        """Batches of one side: allowed before the other's start, after its end, or where that one was compacted."""
        if other.first_offset is None or run.last_offset < other.first_offset:
            what, allowed = "log_start", True
        elif run.first_offset > other.last_offset:
            what, allowed = "log_end", True
        else:
            what, allowed = "batches", other.compacted
        counts = (run.batches, 0) if run.side == "left" else (0, run.batches)
        where = self._where(f"offsets {run.first_offset}-{run.last_offset}")
        self.done.note(what, where, *counts, allowed=allowed)

    def _batches(self, a: BatchRow, b: BatchRow, left: BatchStream, right: BatchStream) -> None:
        """Two batches that share offsets and are not the same."""
        where = self._where(f"offset {max(a.batch.base_offset, b.batch.base_offset)}")
        if a.batch.leader_epoch != b.batch.leader_epoch:
            self.done.note("leader_epoch", where, a.batch.leader_epoch, b.batch.leader_epoch, allowed=False)
        if a.content == b.content and a.crc_ok:
            return
        mine, others = a.records(), b.records()
        if mine is None or others is None:
            self.done.note("batch", where, a.shown(), b.shown(), allowed=False)
            return
        differ = sorted(o for o in mine.keys() & others.keys() if mine[o][:5] != others[o][:5])
        for offset in differ:
            self.done.note(
                "record", self._where(f"offset {offset}"), _shown(mine[offset]), _shown(others[offset]), allowed=False
            )
        if differ:
            return
        if mine.keys() == others.keys():
            self.done.note("batch_encoding", where, a.shown(), b.shown(), allowed=True)
            return
        # the side that lacks records must be the one that a cleaner has been at
        fine = (not others.keys() - mine.keys() or left.compacted) and (
            not mine.keys() - others.keys() or right.compacted
        )
        self.done.note("batch_records", where, a.shown(), b.shown(), allowed=fine)

    def _indexes(self, name: str, one: DataFile, other: DataFile) -> None:
        """Entries that one side alone has are a matter of density; two that contradict each other are not."""
        entries = [self._entries(file) for file in (one, other)]
        key, value = INDEX_OF_KIND[one.kind].key, INDEX_OF_KIND[one.kind].value
        if one.kind == TRANSACTION_INDEX.kind:
            for last in sorted(entries[0].keys() ^ entries[1].keys()):
                here, there = entries[0].get(last), entries[1].get(last)
                where = self._where(name, f"{key} {last}")
                self.done.note("aborted_transaction", where, here, there, allowed=not self.same_logs)
        else:
            count = [len(e) for e in entries]
            shared = len(entries[0].keys() & entries[1].keys())
            if count != [shared, shared]:
                self.done.note("index_entries", self._where(name), count[0] - shared, count[1] - shared, allowed=True)
            if self.same_logs:
                self._out_of_place(name, one, entries)
        for shared_key in sorted(entries[0].keys() & entries[1].keys()):
            here, there = entries[0][shared_key], entries[1][shared_key]
            if here != there:
                # A time index may name the record or its batch's end: both lead to the same batch. And where the logs
                # differ, a batch lies elsewhere; whether each index fits its own log is verify's question.
                allowed = not self.same_logs or (
                    one.kind == TIME_INDEX.kind and self._same_batch(one, here[value], there[value])
                )
                self.done.note("index_entry", self._where(name, f"{key} {shared_key}"), here, there, allowed=allowed)

    def _out_of_place(self, name: str, index: DataFile, entries: list[dict[int, dict[str, int]]]) -> None:
        """Entries that one side alone has, between neighbours of the other side that lie elsewhere in the same log."""
        key, value = INDEX_OF_KIND[index.kind].key, INDEX_OF_KIND[index.kind].value
        for left, (mine, others) in ((True, entries), (False, entries[::-1])):
            keys = sorted(others)
            for alone in sorted(mine.keys() - others.keys()):
                at, here = bisect(keys, alone), mine[alone]
                there = None
                if at > 0 and others[keys[at - 1]][value] > here[value]:
                    there = others[keys[at - 1]]
                elif at < len(keys) and others[keys[at]][value] < here[value]:
                    there = others[keys[at]]
                if there is None:
                    continue
                if index.kind != TIME_INDEX.kind or not self._same_batch(index, here[value], there[value]):
                    sides = (here, there) if left else (there, here)
                    self.done.note("index_entry", self._where(name, f"{key} {alone}"), *sides, allowed=False)

    def _entries(self, file: DataFile) -> dict[int, dict[str, int]]:
        """An index's entries by their key."""
        index_format = INDEX_OF_KIND[file.kind]
        with file.open() as evidence:
            form = index_format is TRANSACTION_INDEX
            extent = transaction_extent(evidence) if form else index_extent(evidence, index_format)
            raw = evidence.read(0, extent.entries * index_format.size)
            self.done.checked.cover(file.path, evidence.size, entries=extent.entries)
        columns = {n: a.tolist() for n, a in decode(index_format, raw, file.name.base_offset or 0).items()}
        columns.pop("relative_offset", None)
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return {row[index_format.key]: row for row in rows}

    def _same_batch(self, index: DataFile, one: int, other: int) -> bool:
        segment = next((s for s in self.left.segments if s.base_offset == index.name.base_offset), None)
        if segment is None:
            return False
        with segment.files[LOG].open() as log:
            batch = next((b for b in walk(log) if b.last_offset >= max(one, other)), None)
        return batch is not None and batch.base_offset <= min(one, other)

    def _snapshots(self, name: str, one: DataFile, other: DataFile) -> None:
        states = [
            {p.producer_id: p._asdict() for p in self._parsed(file, _sound_snapshot).producers} for file in (one, other)
        ]
        for producer in sorted(states[0].keys() | states[1].keys()):
            here, there = states[0].get(producer), states[1].get(producer)
            if here != there:  # one that expired on one side is missing there
                allowed = here is None or there is None
                self.done.note("producer", self._where(name, f"producer {producer}"), here, there, allowed=allowed)

    def _parsed(self, file: DataFile, parse: Callable[[bytes], T]) -> T:
        """What a small file says. Raises CannotRead for one that is damaged: what it lacks is no difference."""
        data = read_file(file.path)
        try:
            parsed = parse(data)
        except WrongFormat as e:
            self.done.checked.skip(file.path, "it is damaged", len(data))
            raise CannotRead(f"{file.path}: {e}") from None
        self.done.checked.cover(file.path, len(data))
        return parsed

    def _epochs(self, name: str, one: DataFile, other: DataFile) -> None:
        sides = [{line.epoch: line.start_offset for line in self._parsed(file, _sound_epochs)} for file in (one, other)]
        shared = sorted(sides[0].keys() & sides[1].keys())
        for epoch in sorted(sides[0].keys() | sides[1].keys()):
            here, there = sides[0].get(epoch), sides[1].get(epoch)
            if here != there:
                # the oldest shared line starts at each log's own start; older and newer ones may be on one side only
                allowed = not shared or epoch <= shared[0] or epoch > shared[-1]
                self.done.note("epoch_start", self._where(name, f"epoch {epoch}"), here, there, allowed=allowed)

    def _metadata(self, name: str, one: DataFile, other: DataFile) -> None:
        sides = [self._parsed(file, parse_partition_metadata) for file in (one, other)]
        for key in sorted(sides[0].keys() | sides[1].keys()):
            if sides[0].get(key) != sides[1].get(key):
                self.done.note(key, self._where(name), sides[0].get(key), sides[1].get(key), allowed=False)


def _sound_snapshot(data: bytes) -> ProducerSnapshot:
    snapshot = parse_snapshot(data)
    for found in check_snapshot("", snapshot, len(data)):
        raise WrongFormat(found.message)
    return snapshot


def _sound_epochs(data: bytes) -> list[EpochStart]:
    lines, problems = parse_leader_epochs(data)
    for problem in problems:
        raise WrongFormat(problem.why)
    return lines


class _Alone(NamedTuple):
    """A run of neighbouring batches that one side has and the other has not; `number` is the last one's."""

    side: str
    first_offset: int
    last_offset: int
    number: int
    batches: int


def _extend(alone: list[_Alone], side: str, row: BatchRow) -> None:
    """Add a batch to the last run, if it is that side's next one, or begin another."""
    for at in range(len(alone) - 1, max(-1, len(alone) - 3), -1):
        if alone[at].side == side and alone[at].number == row.number - 1:
            alone[at] = alone[at]._replace(
                last_offset=row.batch.last_offset, number=row.number, batches=alone[at].batches + 1
            )
            return
    alone.append(_Alone(side, row.batch.base_offset, row.batch.last_offset, row.number, 1))


def _shown(record: Record) -> dict[str, Any]:
    """A record as a difference shows it: lengths, not contents, which may be nobody's business."""
    return {
        "timestamp": record.timestamp,
        "key_length": None if record.key is None else len(record.key),
        "value_length": None if record.value is None else len(record.value),
        "headers": len(record.headers),
        "digest": sha256(repr((record.key, record.value, record.headers)).encode()).hexdigest()[:16],
    }
