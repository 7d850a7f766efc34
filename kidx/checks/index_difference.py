"""What differs between two indexes of one kind. Entries that one side alone has are mostly a matter of density."""

from __future__ import annotations

from bisect import bisect

from kidx.checks.compared import Sides
from kidx.checks.engine.index_file import index_extent
from kidx.formats.indexes import TIME_INDEX, TRANSACTION_INDEX, decode
from kidx.logdir.names import INDEX_OF_KIND, LOG
from kidx.logdir.tree import DataFile
from kidx.segments.walk import walk


class IndexComparison:
    """Compares a partition's indexes pair by pair; `same_logs`: a batch lies at the same byte on both sides."""

    def __init__(self, sides: Sides, *, same_logs: bool) -> None:
        self.sides, self.done, self.same_logs = sides, sides.done, same_logs

    def compare(self, name: str, one: DataFile, other: DataFile) -> None:
        """Entries that one side alone has are a matter of density; two that contradict each other are not."""
        entries = [self._entries(file) for file in (one, other)]
        key, value = INDEX_OF_KIND[one.kind].key, INDEX_OF_KIND[one.kind].value
        if one.kind == TRANSACTION_INDEX.kind:
            for last in sorted(entries[0].keys() ^ entries[1].keys()):
                here, there = entries[0].get(last), entries[1].get(last)
                where = self.sides.where(name, f"{key} {last}")
                self.done.note("aborted_transaction", where, here, there, allowed=not self.same_logs)
        else:
            count = [len(e) for e in entries]
            shared = len(entries[0].keys() & entries[1].keys())
            if count != [shared, shared]:
                self.done.note(
                    "index_entries", self.sides.where(name), count[0] - shared, count[1] - shared, allowed=True
                )
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
                self.done.note(
                    "index_entry", self.sides.where(name, f"{key} {shared_key}"), here, there, allowed=allowed
                )

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
                    self.done.note("index_entry", self.sides.where(name, f"{key} {alone}"), *sides, allowed=False)

    def _entries(self, file: DataFile) -> dict[int, dict[str, int]]:
        """An index's entries by their key."""
        index_format = INDEX_OF_KIND[file.kind]
        with file.open() as evidence:
            extent = index_extent(evidence, index_format)
            raw = evidence.read(0, extent.entries * index_format.size)
            self.done.checked.cover(file.path, evidence.size, entries=extent.entries)
        columns = {n: a.tolist() for n, a in decode(index_format, raw, file.name.base_offset or 0).items()}
        columns.pop("relative_offset", None)
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return {row[index_format.key]: row for row in rows}

    def _same_batch(self, index: DataFile, one: int, other: int) -> bool:
        segment = next((s for s in self.sides.left.segments if s.base_offset == index.name.base_offset), None)
        if segment is None:
            return False
        with segment.files[LOG].open() as log:
            batch = next((b for b in walk(log) if b.last_offset >= max(one, other)), None)
        return batch is not None and batch.base_offset <= min(one, other)
