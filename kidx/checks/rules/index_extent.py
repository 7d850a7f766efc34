"""How an index's bytes divide: entries, zeros, a torn rest."""

from __future__ import annotations

import numpy as np

from kidx.checks.rule import ABSENT, check
from kidx.checks.subjects.indexes import Bools, Entries, IndexFile
from kidx.checks.texts import CONFIRM_BY_REBUILD, LOADS_IT, REBUILD, TIERED
from kidx.findings import ERROR, NOTE, Finding, Rule
from kidx.formats.indexes import TIME_INDEX, TRANSACTION_INDEX

TORN_ENTRY = Rule(
    code="KX101",
    name="torn-entry",
    severity=ERROR,
    title="The file ends inside an entry",
    broker=(
        "Before 2.3 a broker noticed the wrong length at start and rebuilt the segment's indexes; since 2.3 it maps "
        "the file, counts whole entries only and overwrites the rest with the next one. A tiered-storage cache refuses "
        "it. A transaction index is read up to its last whole entry, but the next one is appended after the torn "
        "bytes, and from there on every entry is misread."
    ),
    story=(
        "An index is always a whole number of entries long (8 bytes in .index, 12 in .timeindex, 34 in .txnindex): the "
        "broker sets its length itself. A torn one was cut by a copy that did not finish, a full disk, or a file "
        "system repaired after a crash. The entries before it are intact. In an offset or time index only speed is "
        "lost; in a transaction index an aborted transaction is, and read_committed consumers would see its "
        "records. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

ZERO_ENTRY = Rule(
    code="KX102",
    name="zero-entry",
    severity=ERROR,
    title="Zeros lie where an entry should be, with entries after them",
    broker=(
        LOADS_IT
        + "its binary search may land on the zeros, take a wrong turn there, and answer with an entry far too early or "
        "too late; reading starts from the wrong place. In a transaction index it reads each as a transaction of "
        "producer 0, aborted at offset 0." + TIERED
    ),
    story=(
        "Zeros at the end of an index are preallocation (KX110); zeros with entries after them are not: no append "
        "skips a slot. A page or sector was never written, or was lost: power loss, a snapshot of a disk in use, a "
        "sparse copy. In a transaction index even zeros at the end are damage, for it is never preallocated. "
        + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

ZERO_TAIL = Rule(
    code="KX110",
    name="zero-tail",
    severity=NOTE,
    title="The end of the index is preallocated zeros",
    broker=(
        "After an unclean stop a broker rebuilds the indexes of segments from its recovery point on, and trims them. "
        "One that is not rebuilt is taken as full of entries, zeros included: look-ups go wrong, appends find no "
        "room (BufferOverflowException: KAFKA-12734, KAFKA-19200), and the last timestamp reads as 0, so that "
        "retention deletes the segment early (KAFKA-10207)."
    ),
    story=(
        "A broker creates an index at its full size (segment.index.bytes, 10 MiB by default), fills it with zeros, "
        "and cuts it to its entries when the segment rolls or the log closes. So the active segment's indexes end in "
        "zeros, and so do those that an unclean stop left behind: a note, and nothing is to be repaired, for the "
        "broker trims them. Where a later segment exists and the stop was clean nobody will ever trim it: then it is a "
        "warning. The zeros are no data: kidx reads the entries before them as usual, where DumpLogSegments ends in "
        "silence or prints them as offset 0."
    ),
    repair="kidx trim FILE",
)

EMPTY_TRANSACTION_INDEX = Rule(
    code="KX114",
    name="empty-transaction-index",
    severity=NOTE,
    title="The transaction index is there but empty",
    broker=(
        "Every version opens it and finds no aborted transaction, as if it were not there. A tiered-storage cache "
        "makes such files itself."
    ),
    story=(
        "A broker creates a .txnindex with its first entry, so most segments have none. An empty one remains when a "
        "segment was truncated or recovered, or when a tool created it. It is correct unless the log has an ABORT "
        "marker (KX401)."
    ),
)


@check(IndexFile, TORN_ENTRY)
def torn_entry(index: IndexFile) -> list[Finding] | None:
    """The file's size is no multiple of an entry's."""
    width, torn = index.format.size, index.extent.torn_bytes
    if not torn:
        return None
    whole = index.size - torn
    finding = TORN_ENTRY.finding(
        index.path,
        f"{index.size:,} bytes is no multiple of {width}: the last {torn} are a torn entry; the ones before it are "
        "whole",
        span=(whole, index.size),
        slot=whole // width,
        expected=width,
        found=torn,
    )
    return [finding]


def zero_run(entries: Entries, run: tuple[int, int]) -> Finding:
    """The finding about a run of zero entries: first slot, slot after the last."""
    begin, stop = run
    count, width = stop - begin, entries.format.size
    never = entries.format is TRANSACTION_INDEX
    why = "; this index is never preallocated" if never else ": no preallocation, for entries follow"
    return ZERO_ENTRY.finding(
        entries.index.path,
        f"{count:,} {'entry' if count == 1 else 'entries'} of nothing but zeros{why}",
        span=(begin * width, stop * width),
        slot=begin,
        found=count,
    )


@check(Entries, ZERO_ENTRY, finding=zero_run, stage=ABSENT, runs=True)
def zero_entries(entries: Entries) -> Bools | None:
    """Entries whose bytes are all zero, bool, shape (n,).

    In a time index the first one can be real, (0, base offset): a record of 1970 at the segment's start.
    """
    exempt = entries.first == 0 and entries.format is TIME_INDEX
    if entries.in_order and (exempt or any(entries.stored(0))):
        return None
    zero: Bools = ~np.logical_or.reduce([values != 0 for values in entries.fields.values()])
    if exempt:
        zero[0] = False
    return zero if zero.any() else None


@check(IndexFile, ZERO_TAIL)
def zero_tail(index: IndexFile) -> list[Finding] | None:
    """Whole slots of zeros after the last entry."""
    newest = index.log_max_timestamp
    is_entry = index.is_one_zero_entry and newest is not None and newest >= 0
    if is_entry or not index.extent.zero_tail_bytes:
        return None
    end = index.extent.entries * index.format.size
    severity, why = index.facts.zero_tail()
    if index.is_one_zero_entry:
        severity, why = NOTE, "or it is the entry of timestamp 0 at the segment's first offset"
    finding = ZERO_TAIL.finding(
        index.path,
        f"{end:,} of {index.size:,} bytes used, the rest preallocated: {why}",
        span=(end, end + index.extent.zero_tail_bytes),
        expected=end,
        found=index.size,
        severity=severity,
    )
    return [finding]


@check(IndexFile, EMPTY_TRANSACTION_INDEX)
def empty_transaction_index(index: IndexFile) -> list[Finding] | None:
    """A transaction index of no bytes, except in a tiered-storage cache."""
    if index.format is not TRANSACTION_INDEX or index.size or index.facts.copied:
        return None
    text = "0 bytes: a broker creates this file with its first entry"
    return [EMPTY_TRANSACTION_INDEX.finding(index.path, text, found=0)]
