"""Index files: header, chains, and entries whose messages are gone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule
from kidx.rocketmq.formats import INDEX_HEADER
from kidx.rocketmq.index_file import MOST_SLOTS
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.rules.texts import REBUILD
from kidx.rocketmq.subjects.index_entries import IndexEntries

INDEX_UNREADABLE = Rule(
    "KXR301",
    "index-unreadable",
    ERROR,
    "An index file's header is impossible",
    "Loaded without a check; look-ups by key find nothing or wrong messages.",
    "Counts below 1 or above what the file holds, or a file too short for its header.",
    REBUILD,
)
INDEX_CHAIN = Rule(
    "KXR302",
    "index-chain",
    ERROR,
    "A chain of the index is broken",
    "A look-up by key that follows it stops early, or wanders into another chain: messages are not found.",
    "A slot holds the newest entry of its chain, each entry the one before it; slots are hash modulo slots.",
    REBUILD,
)
INDEX_HEADER_RULE = Rule(
    "KXR304",
    "index-header",
    WARNING,
    "An index file's header does not agree with its entries",
    "The header's times decide whether a look-up opens the file at all.",
    "The header repeats the first and the last entry's offset and store time, and how many slots are in use. It is "
    "flushed apart from the entries, so after an unclean stop it may be behind. Brokers up to 4.5.2 count every entry "
    "as a slot, and those that were upgraded some; nothing reads that number, and any between is healthy. (Read from "
    "IndexFile of 4.5.2, 4.7.1, 4.9.3, 4.9.8, 5.0.0 and 5.5.1.)",
    REBUILD,
)
EXPIRED_ENTRIES = Rule(
    "KXR305",
    "expired-entries",
    NOTE,
    "Index entries of messages that are already deleted",
    "Answered as offsets that lead nowhere; the broker drops them when it reads the messages.",
    "Index files are deleted whole, when their last message is expired.",
)
INDEX_SHAPE = Rule(
    "KXR306",
    "index-shape",
    WARNING,
    "The number of slots of an index file is unknown",
    "The broker takes its configuration's numbers, whatever the file was made with.",
    "Slots and entries are configuration (maxHashSlotNum, maxIndexNum) and recorded nowhere. kidx infers them from "
    "the chains; where these do not agree with any shape the file is damaged, or has no entry.",
    "give the broker's properties with --config",
)


@asked_of(IndexEntries)
def index_unreadable(file: IndexEntries) -> Iterator[Finding]:
    """A file shorter than a header, or a count that the file has no room for."""
    path = file.file.path
    if not file.has_header:
        size = file.file.size
        yield INDEX_UNREADABLE.finding(path, f"{size} bytes are less than a header", span=(0, size))
    elif file.shape is not None and not file.readable:
        count = file.index.count
        text = f"it counts {count - 1} entries and has room for {file.room}"
        if 1 <= count <= file.room:
            text = f"it counts {count - 1} entries, and most of their bytes are holes"
            if not file.in_holes:
                text = f"{file.index.slots:,} slots are more than the {MOST_SLOTS:,} that kidx reads"
        yield INDEX_UNREADABLE.finding(path, text, span=(0, INDEX_HEADER.size), found=count)


@asked_of(IndexEntries)
def index_shape(file: IndexEntries) -> Iterator[Finding]:
    """A file with entries whose number of slots is unknown."""
    if file.has_header and file.shape is None and file.index.count > 1:
        text = "no number of slots agrees with its chains"
        yield INDEX_SHAPE.finding(file.file.path, text, span=(0, INDEX_HEADER.size))


@asked_of(IndexEntries)
def index_chain(file: IndexEntries) -> Iterator[Finding]:
    """Entries that do not name the one before them in their slot, slots that do not name their newest entry."""
    entries, index, path = file.entries, file.index, file.file.path
    slot = entries["hash"].astype(np.int64) % index.slots
    order = slot.argsort(kind="stable")
    expected = np.zeros(len(entries), np.int64)
    same = slot[order][1:] == slot[order][:-1]
    expected[order[1:][same]] = order[:-1][same] + 1
    wrong = (entries["previous"] != expected) | (entries["hash"] < 0)
    for i in wrong.nonzero()[0].tolist():
        was, want = int(entries["previous"][i]), int(expected[i])
        text = f"entry {i + 1} of slot {int(slot[i])} names {was} as the one before it, which is {want}"
        yield INDEX_CHAIN.finding(path, text, span=file.span(i), slot=i + 1, expected=want, found=was)
    newest = np.zeros(len(file.slots), np.int32)
    newest[slot] = np.arange(1, len(entries) + 1)
    for i in (newest != file.slots).nonzero()[0].tolist():
        at, was, want = INDEX_HEADER.size + 4 * i, int(file.slots[i]), int(newest[i])
        text = f"slot {i} names entry {was} as its newest, which is {want}"
        yield INDEX_CHAIN.finding(path, text, span=(at, at + 4), slot=i, expected=want, found=was)


@asked_of(IndexEntries)
def index_header(file: IndexEntries) -> Iterator[Finding]:
    """A header that states another first or last offset than the entries, or another number of used slots."""
    if not len(file.at):
        return
    index = file.index
    found = [index.begin_offset, index.end_offset, index.used_slots]
    used = int(np.count_nonzero(file.slots))
    expected = [int(file.at[0]), int(file.at[-1]), used]
    if found[:2] != expected[:2] or not used <= index.used_slots <= len(file.at):
        text = f"first offset, last offset and used slots are {found}, the entries' {expected}"
        span = 0, INDEX_HEADER.size
        yield INDEX_HEADER_RULE.finding(file.file.path, text, span=span, expected=expected, found=found)


@asked_of(IndexEntries)
def expired_entries(file: IndexEntries) -> Iterator[Finding]:
    """Entries that lead to before the commit log's begin: one finding a file."""
    start = file.log.first_offset
    expired = int(np.count_nonzero(file.at < start))
    if expired:
        text = f"{expired} entries lead to messages before {start}, where the commit log begins"
        yield EXPIRED_ENTRIES.finding(file.file.path, text, found=expired)
