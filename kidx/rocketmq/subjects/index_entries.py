"""An index file in memory: header, slots, entries, and which entries point to a message."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kidx.findings import Skipped
from kidx.rocketmq.commit_log import CommitLog
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import INDEX_ENTRY, INDEX_HEADER
from kidx.rocketmq.index_file import MOST_SLOTS, IndexFile
from kidx.rocketmq.layout import StoreFile

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.rocketmq.subjects.queue_file import Ints, Mask

KEYS_CHECKED = 200_000  # entries of a file whose message's keys are hashed; the rest is compared with chains and log


class IndexEntries:
    """One index file. `shape` is (slots, entries), None where it is unknown; entries are numbered from 1.

    `starts` are the commit-log offsets of all messages, sorted; the log ends at `log_end`. Keys are hashed by `jobs`
    processes.
    """

    def __init__(
        self,
        opened: OpenFiles,
        file: StoreFile,
        shape: tuple[int, int] | None,
        starts: Ints,
        log: CommitLog,
        log_end: int,
        jobs: int = 1,
    ) -> None:
        self.file, self.shape, self.starts, self.log, self.log_end, self.jobs = file, shape, starts, log, log_end, jobs
        self._opened = opened
        self.index = IndexFile(opened, file.path, *(shape or (1, 1)))

    @property
    def room(self) -> int:
        """How many entries the file has room for."""
        slots, entries = self.shape or (0, 0)
        return min(entries, (self.file.size - INDEX_HEADER.size - 4 * slots) // INDEX_ENTRY.size)

    @property
    def has_header(self) -> bool:
        """Whether the file is long enough for a header."""
        return self.file.size >= INDEX_HEADER.size

    @property
    def readable(self) -> bool:
        """Whether entries can be read: the shape is known, and the header counts no more than the file holds."""
        if not self.has_header or self.shape is None or not 1 <= self.index.count <= max(1, self.room):
            return False
        return self.index.slots <= MOST_SLOTS and not self.in_holes

    @cached_property
    def in_holes(self) -> bool:
        """Whether most of many entries are holes."""
        start, end = self.index.entry_at(1), self.index.entry_at(self.index.count)
        return self._opened.get(self.file.path).mostly_holes(start, end)

    @cached_property
    def slots(self) -> Ints:
        """Each slot's newest entry, 0 for none: shape (slots,)."""
        data = self._opened.get(self.file.path).read(INDEX_HEADER.size, 4 * self.index.slots if self.readable else 0)
        return np.frombuffer(data, ">i4")

    @cached_property
    def entries(self) -> npt.NDArray[np.void]:
        """The entries, formats.INDEX_ENTRY: shape (count - 1,); none where the file is not readable."""
        length = INDEX_ENTRY.size * (self.index.count - 1) if self.readable else 0
        return np.frombuffer(self._opened.get(self.file.path).read(self.index.entry_at(1), length), INDEX_ENTRY.dtype)

    @cached_property
    def at(self) -> Ints:
        """The entries' commit-log offsets."""
        return self.entries["commit_log_offset"].astype(np.int64)

    @cached_property
    def with_message(self) -> Mask:
        """Entries that lead to the start of a message: bool, shape (n,)."""
        place = self.starts.searchsorted(self.at)
        known = np.zeros(len(self.at), bool)
        inside = place < len(self.starts)
        known[inside] = self.starts[place[inside]] == self.at[inside]
        return known

    @cached_property
    def hashed(self) -> Ints:
        """Entries (0 is the file's first) that are compared with their messages' keys, at most KEYS_CHECKED."""
        return self.with_message.nonzero()[0][:KEYS_CHECKED]

    @property
    def left_out(self) -> Skipped | None:
        """The entries after those, if there are any."""
        more = int(np.count_nonzero(self.with_message)) - len(self.hashed)
        if not more:
            return None
        why = f"{more:,} entries after it were not compared with their messages' keys and times"
        return Skipped(f"{self.file.path}: entry {int(self.hashed[-1]) + 1}", why)

    def span(self, entry: int) -> tuple[int, int]:
        """An entry's bytes; 0 is the file's first."""
        at = self.index.entry_at(entry + 1)
        return at, at + INDEX_ENTRY.size
