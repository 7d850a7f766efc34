"""An offset index's entries against the batches that they point at."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from kidx.checks.rule import Found, check
from kidx.checks.subjects.logs import Batches, CheckedLog
from kidx.checks.texts import CONFIRM_BY_REBUILD, LOADS_IT, REBUILD, TIERED
from kidx.findings import ERROR, NOTE, Finding, FindingLimiter, Rule
from kidx.segments.walk import walk

POSITION_PAST_END = Rule(
    code="KX201",
    name="position-past-end",
    severity=ERROR,
    title="An entry points past the end of the log",
    broker=(
        LOADS_IT
        + "a look-up that ends on this entry finds nothing to read, and a fetch of an existing offset is answered as "
        "if it did not exist. DumpLogSegments throws on such an entry and skips the files after it." + TIERED
    ),
    story=(
        "The log was cut, by a recovery, a copy that did not finish or by hand, and its index was not; or the index "
        "belongs to another log. A broker appends to the log first and to the index after it. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

OFFSET_INDEX_POSITION_NOT_A_BATCH = Rule(
    code="KX203",
    name="offset-index-position-not-a-batch",
    severity=ERROR,
    title="An offset index entry points into the middle of a batch",
    broker=(
        LOADS_IT
        + "a fetch that ends on this entry reads a batch header from the wrong byte: CorruptRecordException, an "
        "unrelated offset, or a consumer that makes no progress." + TIERED
    ),
    story=(
        "Every position in an offset index is a batch's first byte. Any other byte means that the entry was "
        "overwritten, or that the log and the index are of different generations (a log "
        "replaced by a replica's, whose batches lie elsewhere, next to the old index). " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

OFFSET_INDEX_OFFSET_NOT_A_BATCH_END = Rule(
    code="KX204",
    name="offset-index-offset-not-a-batch-end",
    severity=ERROR,
    title="An offset index entry's offset is not the last one of the batch it points at, nor of one shortly after",
    broker=(
        LOADS_IT
        + "with too large an offset, look-ups of the offsets in between start one entry earlier and are only slower. "
        "With too small an offset, look-ups start past the offset they search for." + TIERED
    ),
    story=(
        "An entry says: the batches appended at this position end with this offset. Old followers and message format "
        "v0 and v1 write one entry for several batches, which is healthy (KX209), and so are entries of brokers up to "
        "1.1 that name a batch's first offset (KX210). Here no batch up to the next entry ends with the offset, or an "
        "entry names a first offset although earlier entries name last offsets, which no broker does. "
        + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

LATER_BATCH = Rule(
    code="KX209",
    name="later-batch",
    severity=NOTE,
    title="An offset index entry names a later batch than the one at its position",
    broker="Every version reads it without loss: the search starts at the position and walks on to the offset.",
    story=(
        "Where one append brings several batches, brokers before KAFKA-806 write one entry: the position of the "
        "first batch and the last offset of the last one. Followers do so all the time. DumpLogSegments calls it a "
        "mismatch; it is healthy."
    ),
)

FIRST_OFFSETS_INDEXED = Rule(
    code="KX210",
    name="first-offsets-indexed",
    severity=NOTE,
    title="Entries name the first offset of their batch",
    broker=(
        "Brokers up to 1.1 index a batch's first offset, those since 2.0 its last one. Every version reads both: a "
        "look-up starts at the batch's position either way."
    ),
    story=(
        "The segment was written or its index rebuilt by a broker of 0.8 to 1.1. Where only the first entries are like "
        "this, the broker was upgraded while this segment was active. `kidx rebuild` writes last offsets, as 2.0 and "
        "later do; nothing needs to be done."
    ),
)


@check(CheckedLog, POSITION_PAST_END)
def position_past_end(log: CheckedLog) -> Iterator[Found] | None:
    """Entries that point at or past the end of the log, which is where its zero tail begins."""
    entries = log.offsets
    if entries is None:
        return None
    end = log.result.end if log.result.whole else log.evidence.size
    past = range(bisect_left(entries.positions, end), len(entries.positions))

    def finding(index: int) -> Finding:
        position = int(entries.positions[index])
        text = f"says offset {entries.offsets[index]} is at byte {position} of a log of {end} bytes"
        return entries.finding(POSITION_PAST_END, index, text, f"< {end}", position)

    return FindingLimiter().of(POSITION_PAST_END.code, past, finding) if past else None


def not_a_batch_finding(batches: Batches, index: int) -> Finding:
    """The finding about an entry."""
    entries, window = batches.offsets, batches.window
    assert entries is not None
    position = int(entries.positions[index])
    row = int(window.position.searchsorted(position, "right")) - 1
    around = window.position[row : row + 2].tolist()
    if row == len(window) - 1 and window.end < batches.log.size:
        around.append(window.end)
    text = (
        f"says offset {entries.offsets[index]} is at byte {position} of the log; batches around it start at "
        f"{' and '.join(map(str, around))}"
    )
    return entries.finding(OFFSET_INDEX_POSITION_NOT_A_BATCH, index, text, around, position)


@check(Batches, OFFSET_INDEX_POSITION_NOT_A_BATCH, finding=not_a_batch_finding)
def position_not_a_batch(batches: Batches) -> list[int] | None:
    """Entries that point into the window, but not at a batch."""
    met = batches.met_offsets
    if met is None or met.at_batch.all():
        return None
    return (met.low + (~met.at_batch).nonzero()[0]).tolist()


def _many_later_batches(findings: list[Finding]) -> Finding:
    """One finding instead of many."""
    text = f"{len(findings):,} entries name a later batch than the one at their position: appends of several batches"
    return findings[0]._replace(
        byte_end=findings[-1].byte_end, slot=None, expected=None, found=len(findings), message=text
    )


def batch_end_finding(batches: Batches, index: int) -> Finding:
    """The finding about an entry whose offset is not its batch's last: the batches up to the next entry are searched.

    One append of several batches writes one entry before KAFKA-806 (followers do so): the position of the first batch
    with the last offset of the last one.
    """
    entries, window, met = batches.offsets, batches.window, batches.met_offsets
    assert entries is not None
    assert met is not None
    row, offset = int(met.rows[index - met.low]), int(entries.offsets[index])
    own = int(window.last_offset[row])
    text = f"says offset {offset} is at byte {entries.positions[index]}; the batch there ends with "
    if offset > own and _ends_later(batches, index, row):
        text += f"{own}, and one shortly after it with {offset}"
        return entries.finding(LATER_BATCH, index, text, own, offset)
    text += f"offset {own}, and none before the next entry ends with {offset}"
    return entries.finding(OFFSET_INDEX_OFFSET_NOT_A_BATCH_END, index, text, own, offset)


def _ends_later(batches: Batches, index: int, row: int) -> bool:
    """Whether a batch after that of `row` and before the next entry's ends with the entry's offset."""
    entries, window = batches.offsets, batches.window
    assert entries is not None
    offset = int(entries.offsets[index])
    end = int(entries.positions[index + 1]) if index + 1 < len(entries.positions) else batches.log.size
    later = window.last_offset[row + 1 :][window.position[row + 1 :] < end]
    if bool((later == offset).any()):
        return True
    if end <= window.end or offset <= int(window.last_offset[-1]):
        return False
    return any(b.last_offset == offset for b in walk(batches.log, window.end, end) if b.last_offset <= offset)


@check(
    Batches,
    OFFSET_INDEX_OFFSET_NOT_A_BATCH_END,
    LATER_BATCH,
    finding=batch_end_finding,
    many=(LATER_BATCH, _many_later_batches),
)
def offset_not_a_batch_end(batches: Batches) -> list[int] | None:
    """Entries that point at a batch whose last offset is not theirs."""
    met = batches.met_offsets
    if met is None or met.fits.all():
        return None
    return (met.low + (met.at_batch & ~met.fits & ~met.first).nonzero()[0]).tolist()


@check(CheckedLog, FIRST_OFFSETS_INDEXED, OFFSET_INDEX_OFFSET_NOT_A_BATCH_END)
def first_offsets(log: CheckedLog) -> Iterator[Found]:
    """Entries that name their batch's first offset: a note, but not after an entry that names a last one."""
    entries, result = log.offsets, log.result
    if entries is None or not result.first_named:
        return
    named = np.concatenate([indexes for indexes, _ in result.first_named])
    ends = np.concatenate([last for _, last in result.first_named])
    later = [f.slot for f in result.findings if f.rule == LATER_BATCH.code and f.slot is not None]
    turns = [int(entries.slots.searchsorted(min(later)))] if later else []
    turns += [] if result.last_named is None else [result.last_named]
    old = int(named.searchsorted(min(turns))) if turns else len(named)
    if old:
        text = f"{old:,} of {len(entries.slots):,} entries name their batch's first offset, as brokers up to 1.1 do"
        yield FIRST_OFFSETS_INDEXED.finding(entries.file, text, found=old)

    def finding(at: int) -> Finding:
        index = int(named[at])
        offset = int(entries.offsets[index])
        text = (
            f"says offset {offset} is at byte {entries.positions[index]}: that is the first offset of the batch there, "
            "and entries before it name the last one"
        )
        return entries.finding(OFFSET_INDEX_OFFSET_NOT_A_BATCH_END, index, text, int(ends[at]), offset)

    yield from FindingLimiter().of(OFFSET_INDEX_OFFSET_NOT_A_BATCH_END.code, range(old, len(named)), finding)
