"""Index files: header, chains, and every entry against its message's keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kidx.execution import run_forked
from kidx.findings import Finding, Skipped
from kidx.rocketmq.checks.index_keys import IndexKeys
from kidx.rocketmq.checks.making import finding
from kidx.rocketmq.commit_log import CommitLog
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import INDEX_ENTRY, INDEX_HEADER
from kidx.rocketmq.index_file import IndexFile
from kidx.rocketmq.layout import StoreFile

if TYPE_CHECKING:
    from kidx.rocketmq.checks.units import Ints

_KEYS_AT_ONCE = 5000
KEYS_CHECKED = 200_000  # entries of a file whose message's keys are hashed; the rest is held against chains and log


def check_index(
    opened: OpenFiles,
    file: StoreFile,
    shape: tuple[int, int] | None,
    starts: Ints,
    log: CommitLog,
    log_end: int,
    jobs: int = 1,
) -> Iterator[Finding | Skipped | int]:
    """Findings of one file, what was left out, then how many entries were checked.

    `starts` are the offsets of all messages, sorted; their keys are hashed by `jobs` processes.
    """
    if file.size < INDEX_HEADER.size:
        yield finding("KXR301", file.path, f"{file.size} bytes are less than a header", span=(0, file.size))
        return
    head = IndexFile(opened, file.path, 1, 1)
    if shape is None:
        if head.count > 1:
            yield finding("KXR306", file.path, "no number of slots agrees with its chains", span=(0, INDEX_HEADER.size))
        return
    slots, entries = shape
    index = IndexFile(opened, file.path, slots, entries)
    holds = (file.size - INDEX_HEADER.size - 4 * slots) // INDEX_ENTRY.size
    if not 1 <= index.count <= max(1, min(entries, holds)):
        said = f"it counts {index.count - 1} entries and has room for {min(entries, holds)}"
        yield finding("KXR301", file.path, said, span=(0, INDEX_HEADER.size), found=index.count)
        return
    evidence = opened.get(file.path)
    table = np.frombuffer(evidence.read(INDEX_HEADER.size, 4 * slots), ">i4")
    raw = np.frombuffer(evidence.read(index.entry_at(1), INDEX_ENTRY.size * (index.count - 1)), INDEX_ENTRY.dtype)
    yield from _chains(file, index, table, raw)
    yield from _header(file, index, table, raw)
    yield from _entries(file, index, raw, starts, log, log_end, jobs)
    yield len(raw)


def _chains(file: StoreFile, index: IndexFile, table: Ints, raw: np.ndarray) -> Iterator[Finding]:
    """Each slot has the newest entry of its hash; each entry the one before it of the same slot."""
    slot = raw["hash"].astype(np.int64) % index.slots
    order = slot.argsort(kind="stable")
    expected = np.zeros(len(raw), np.int64)
    same = slot[order][1:] == slot[order][:-1]
    expected[order[1:][same]] = order[:-1][same] + 1
    wrong = (raw["previous"] != expected) | (raw["hash"] < 0)
    for i in wrong.nonzero()[0].tolist():
        at = index.entry_at(i + 1)
        was, want = int(raw["previous"][i]), int(expected[i])
        said = f"entry {i + 1} of slot {int(slot[i])} names {was} as the one before it, which is {want}"
        yield finding("KXR302", file.path, said, span=(at, at + INDEX_ENTRY.size), slot=i + 1, expected=want, found=was)
    newest = np.zeros(index.slots, np.int32)
    newest[slot] = np.arange(1, len(raw) + 1)
    for i in (newest != table).nonzero()[0].tolist():
        at = INDEX_HEADER.size + 4 * i
        said = f"slot {i} names entry {int(table[i])} as its newest, which is {int(newest[i])}"
        yield finding(
            "KXR302", file.path, said, span=(at, at + 4), slot=i, expected=int(newest[i]), found=int(table[i])
        )


def _header(file: StoreFile, index: IndexFile, table: Ints, raw: np.ndarray) -> Iterator[Finding]:
    if not len(raw):
        return
    found = [index.begin_offset, index.end_offset, index.used_slots]
    expected = [int(raw["commit_log_offset"][0]), int(raw["commit_log_offset"][-1]), int(np.count_nonzero(table))]
    if found != expected:
        said = f"first offset, last offset and used slots are {found}, the entries' {expected}"
        span = 0, INDEX_HEADER.size
        yield finding("KXR304", file.path, said, span=span, expected=expected, found=found)


def _entries(
    file: StoreFile, index: IndexFile, raw: np.ndarray, starts: Ints, log: CommitLog, log_end: int, jobs: int
) -> Iterator[Finding | Skipped]:
    at = raw["commit_log_offset"].astype(np.int64)
    expired = (at < log.first_offset).nonzero()[0]
    if len(expired):
        said = f"{len(expired)} entries lead to messages before {log.first_offset}, where the commit log begins"
        yield finding("KXR305", file.path, said, found=len(expired))
    place = starts.searchsorted(at)
    known = np.zeros(len(at), bool)
    inside = place < len(starts)
    known[inside] = starts[place[inside]] == at[inside]
    for i in (~known & (at >= log.first_offset) & (at < log_end)).nonzero()[0].tolist():
        yield _entry(file, index, i, f"entry {i + 1} says that a message starts at {int(at[i])}", None, int(at[i]))
    hashed = known.nonzero()[0]
    if len(hashed) > KEYS_CHECKED:
        why = f"{len(hashed) - KEYS_CHECKED:,} entries after it were not held against their messages' keys and times"
        yield Skipped(f"{file.path}: entry {int(hashed[KEYS_CHECKED - 1]) + 1}", why)
    cuts = range(0, min(len(hashed), KEYS_CHECKED), _KEYS_AT_ONCE)
    parts = [tuple(hashed[cut : min(KEYS_CHECKED, cut + _KEYS_AT_ONCE)].tolist()) for cut in cuts]
    told = dict(run_forked(IndexKeys(index, raw, log).wrong, parts, jobs))
    for part in parts:
        for i, said, expected, found in told[part]:
            yield _entry(file, index, i, said, expected, found)


def _entry(file: StoreFile, index: IndexFile, i: int, message: str, expected: object, found: object) -> Finding:
    at = index.entry_at(i + 1)
    span = at, at + INDEX_ENTRY.size
    return finding("KXR303", file.path, message, span=span, slot=i + 1, expected=expected, found=found)
