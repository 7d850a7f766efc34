"""What differs between two indexes of one kind. Entries on one side only usually mean another index interval."""

from __future__ import annotations

import os
from bisect import bisect

from kidx.checks.engine.index_file import index_extent
from kidx.checks.replicas.comparison import Sides
from kidx.errors import KidxError
from kidx.evidence import exists, open_evidence
from kidx.formats.indexes import TIME_INDEX, TRANSACTION_INDEX, decode
from kidx.logdir.names import INDEX_OF_KIND
from kidx.logdir.tree import DataFile
from kidx.segments.walk import walk

_Entry = dict[str, int]


class IndexComparison:
    """Compares a partition's indexes pair by pair; `same_logs`: a shared offset lies at the same byte on both sides.

    Two entries that contradict each other are a difference only if one of them does not fit its own log: a follower
    that appends several batches at once writes one entry, with the last batch's offset and the first one's position.
    """

    def __init__(self, sides: Sides, *, same_logs: bool) -> None:
        self.sides, self.same_logs = sides, same_logs

    def compare(self, name: str, one: DataFile, other: DataFile) -> None:
        """Note what differs between two indexes."""
        files, entries = (one, other), [self._entries(file) for file in (one, other)]
        if one.kind == TRANSACTION_INDEX.kind:
            self._compare_transactions(name, entries)
            return
        key = INDEX_OF_KIND[one.kind].key
        shared = entries[0].keys() & entries[1].keys()
        alone = [len(e) - len(shared) for e in entries]
        if alone != [0, 0]:
            self.sides.note("index_entries", name, *alone, allowed=True)
        if self.same_logs:
            self._out_of_place(name, files, entries)
        for shared_key in sorted(shared):
            here, there = entries[0][shared_key], entries[1][shared_key]
            if here != there:
                # where the logs differ, batches have other positions; verify checks whether an index fits its own log
                allowed = not self.same_logs or self._agree(files, here, there)
                self.sides.note("index_entry", f"{name} {key} {shared_key}", here, there, allowed=allowed)

    def _compare_transactions(self, name: str, entries: list[dict[int, _Entry]]) -> None:
        for last in sorted(entries[0].keys() | entries[1].keys()):
            here, there = entries[0].get(last), entries[1].get(last)
            if here == there:
                continue
            allowed = not self.same_logs
            if here is not None and there is not None:
                # brokers 1.0 to 2.4 that rebuild the index of a compacted segment may write the marker as first offset
                same = {n: v for n, v in here.items() if v != there[n]}.keys() <= {"first_offset", "last_stable_offset"}
                allowed = allowed or (same and last in (here["first_offset"], there["first_offset"]))
            self.sides.note(
                "aborted_transaction", f"{name} last_offset {last}", here, there, allowed=allowed, offset=last
            )

    def _out_of_place(self, name: str, files: tuple[DataFile, DataFile], entries: list[dict[int, _Entry]]) -> None:
        """Note entries of one side between neighbours of the other side that lie elsewhere in the same log."""
        key, value = INDEX_OF_KIND[files[0].kind].key, INDEX_OF_KIND[files[0].kind].value
        for left in (True, False):
            mine, others = entries if left else entries[::-1]
            keys = sorted(others)
            for alone in sorted(mine.keys() - others.keys()):
                at, here = bisect(keys, alone), mine[alone]
                if at > 0 and others[keys[at - 1]][value] > here[value]:
                    there = others[keys[at - 1]]
                elif at < len(keys) and others[keys[at]][value] < here[value]:
                    there = others[keys[at]]
                else:
                    continue
                pair = (here, there) if left else (there, here)
                if not self._agree(files, *pair):
                    self.sides.note("index_entry", f"{name} {key} {alone}", *pair, allowed=False)

    def _agree(self, files: tuple[DataFile, DataFile], here: _Entry, there: _Entry) -> bool:
        """Whether two different entries of the same log are both right."""
        try:
            if files[0].kind == TIME_INDEX.kind:
                return _in_one_batch(files[0], here["offset"], there["offset"])
            return _fits(files[0], here) and _fits(files[1], there)
        except KidxError:
            return False

    def _entries(self, file: DataFile) -> dict[int, _Entry]:
        """An index's entries by their key."""
        index_format = INDEX_OF_KIND[file.kind]
        with file.open() as evidence:
            extent = index_extent(evidence, index_format)
            raw = evidence.read(0, extent.entries * index_format.size)
            self.sides.checked.cover(file.path, evidence.size, entries=extent.entries)
        columns = {n: a.tolist() for n, a in decode(index_format, raw, file.name.base_offset or 0).items()}
        columns.pop("relative_offset", None)
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return {row[index_format.key]: row for row in rows}


def _log_of(index: DataFile) -> str | None:
    log = os.path.splitext(index.path)[0] + ".log"
    return log if exists(log) else None


def _fits(index: DataFile, entry: _Entry) -> bool:
    """Whether a batch begins at the entry's position, and it or a later one begins or ends with the entry's offset."""
    path = _log_of(index)
    if path is None:
        return False
    with open_evidence(path) as log:
        if not 0 <= entry["position"] < log.size:
            return False
        for batch in walk(log, entry["position"]):
            if batch.base_offset > entry["offset"] or batch.base_offset < (index.name.base_offset or 0):
                return False
            if batch.last_offset >= entry["offset"]:
                return entry["offset"] in (batch.base_offset, batch.last_offset)
    return False


def _in_one_batch(index: DataFile, one: int, other: int) -> bool:
    """Whether one batch contains both offsets: a time index has that of the record, or its batch's last offset."""
    path = _log_of(index)
    if path is None:
        return False
    with open_evidence(path) as log:
        batch = next((b for b in walk(log) if b.last_offset >= max(one, other)), None)
    return batch is not None and batch.base_offset <= min(one, other)
