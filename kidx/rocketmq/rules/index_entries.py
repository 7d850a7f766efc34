"""Index entries compared with the messages they lead to: where these start, their keys, their store times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kidx.execution import run_forked
from kidx.findings import ERROR, Finding, Rule
from kidx.rocketmq.commit_log import CommitLog
from kidx.rocketmq.index_file import IndexFile
from kidx.rocketmq.messages import Message, decode
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.rules.texts import REBUILD
from kidx.rocketmq.subjects.index_entries import IndexEntries
from kidx.text.java import positive_hash

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

INDEX_ENTRY = Rule(
    "KXR303",
    "index-entry",
    ERROR,
    "An index entry does not agree with its message",
    "A look-up by that key misses the message, or finds one that does not have the key.",
    "An entry holds the hash of topic#key of one of its message's keys and where that message starts.",
    REBUILD,
)

_KEYS_AT_ONCE = 5000
_READ_BYTES = 1 << 18  # entries follow the commit log, so one read serves many messages


@asked_of(IndexEntries)
def entry_without_message(file: IndexEntries) -> Iterator[Finding]:
    """Entries that lead into the commit log, but not to the start of a message."""
    inside = (file.at >= file.log.first_offset) & (file.at < file.log_end)
    for i in (inside & ~file.with_message).nonzero()[0].tolist():
        at = int(file.at[i])
        text = f"entry {i + 1} says that a message starts at {at}"
        yield INDEX_ENTRY.finding(file.file.path, text, span=file.span(i), slot=i + 1, found=at)


@asked_of(IndexEntries)
def entry_of_other_key(file: IndexEntries) -> Iterator[Finding]:
    """Entries whose hash is that of none of their message's keys, or whose time is not the message's."""
    chosen = file.hashed
    parts = [tuple(chosen[cut : cut + _KEYS_AT_ONCE].tolist()) for cut in range(0, len(chosen), _KEYS_AT_ONCE)]
    results = dict(run_forked(IndexKeys(file.index, file.entries, file.log).wrong, parts, file.jobs))
    for part in parts:
        for i, text, expected, found in results[part]:
            span = file.span(i)
            yield INDEX_ENTRY.finding(file.file.path, text, span=span, slot=i + 1, expected=expected, found=found)


class WrongEntry(NamedTuple):
    """An entry (0 is the file's first) that its message contradicts."""

    entry: int
    text: str
    expected: list[int] | int
    found: int


class IndexKeys:
    """One index file's entries, their messages' keys hashed as the dispatch does."""

    def __init__(self, index: IndexFile, entries: npt.NDArray[np.void], log: CommitLog) -> None:
        self._begin, self._entries, self._log = index.begin_timestamp, entries, log
        self._start, self._data = 0, b""  # what was read last of the commit log

    def wrong(self, chosen: tuple[int, ...]) -> list[WrongEntry]:
        """What is wrong with these entries, ascending, of which messages are known to begin where they say."""
        first = chosen[0]
        part = self._entries[first : chosen[-1] + 1]
        hashed, offsets, seconds = (part[name].tolist() for name in ("hash", "commit_log_offset", "seconds"))
        found: list[WrongEntry] = []
        last, hashes, expected = -1, set[int](), 0
        for entry in chosen:
            row = entry - first
            if offsets[row] != last:
                last = offsets[row]
                hashes, time = self._of_message(last)
                expected = max(0, (time - self._begin) // 1000)
            if hashed[row] not in hashes:
                text = f"entry {entry + 1} has hash {hashed[row]}, and no key of the message at {last} has it"
                found.append(WrongEntry(entry, text, sorted(hashes), hashed[row]))
            if entry and expected != seconds[row]:  # a file's first entry counts from the file before it
                was = f"its message was stored {expected} s after"
                text = f"entry {entry + 1} says {seconds[row]} s after the first, {was}"
                found.append(WrongEntry(entry, text, expected, seconds[row]))
        return found

    def _of_message(self, offset: int) -> tuple[set[int], int]:
        """Hashes of a message's keys, and its store time."""
        at = offset - self._start
        size = int.from_bytes(self._data[at : at + 4], signed=True) if 0 <= at <= len(self._data) - 4 else -1
        if size < 0 or at + size > len(self._data):
            file = self._log.find(offset)
            if file is None:
                return set(), 0
            position = offset - file.base
            size = max(0, int.from_bytes(file.read(position, 4), signed=True))
            self._start, self._data, at = offset, file.read(position, max(size, _READ_BYTES)), 0
        message = decode(self._data[at : at + size])
        if not isinstance(message, Message):
            return set(), 0
        return {positive_hash(key) for key in message.index_keys(tags=True)}, message.store_timestamp
