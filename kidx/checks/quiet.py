"""A window in which there is nothing to tell: sound batches one after another, told without numpy.

Large batches come in such windows nearly always, and then numpy's import would take longer than all the rest. Whatever
is not plainly as it should be is left to the checks that work with arrays, so this has only to be right about health.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, compress
from operator import add, lt, sub
from typing import TYPE_CHECKING

from kidx.checks.stretch import LogFacts, Stretch
from kidx.formats.batches import CODEC_MASK, LOG_APPEND_TIME_BIT
from kidx.formats.compression import ZSTD
from kidx.formats.indexes import MAX_RELATIVE_OFFSET

if TYPE_CHECKING:
    from kidx.checks.against_log import OffsetEntries, TimeEntries
    from kidx.segments.windows import Window

    Column = Sequence[int]

_FIELDS = (
    "base_offset",
    "leader_epoch",
    "magic",
    "attributes",
    "last_offset_delta",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "record_count",
)
_ONE = frozenset([1])
_V2 = frozenset([2])
_LARGEST_OFFSET = 2**63 - 1
USUAL_BITS = CODEC_MASK | LOG_APPEND_TIME_BIT  # no transaction, no marker, nothing that the cleaner left


def pass_quietly(
    window: Window, facts: LogFacts, seen: Stretch, offsets: OffsetEntries | None, times: TimeEntries | None
) -> bool:
    """Whether a window is as it should be in every way; `seen` and the entries met are brought up to date then."""
    if window.bad_crc or facts.deep:
        return False
    column = window.plain_columns(*_FIELDS)
    positions = window.plain_positions
    base, count, largest = column["base_offset"], column["record_count"], column["max_timestamp"]
    last = list(map(add, base, column["last_offset_delta"]))
    top = max(largest)
    if not (
        _usual(column)
        and in_bounds(base[0], last[-1], facts)
        and _consecutive(base, count, seen)
        and top <= facts.future_ms
        and len(epochs := set(column["leader_epoch"])) == 1
        and of_one_epoch(epochs.pop(), base[0], base[-1], facts, seen)
        and none_named(base[0], last[-1], facts)
        and (offsets is None or _offsets_agree(offsets, window, positions, last))
        and (times is None or _times_agree(times, base[0], last, largest, seen))
    ):
        return False
    seen.met(base[0], last[-1], positions[-1], top, len(window))
    if max(column["producer_id"]) >= 0:
        seen.producers.take_plain(column, positions)
    return True


def _usual(column: dict[str, Column]) -> bool:
    """Whether all are batches of today's format, outside transactions, with every record that they had."""
    return (
        _V2.issuperset(column["magic"])
        and all(bits & ~USUAL_BITS == 0 and bits & CODEC_MASK <= ZSTD for bits in set(column["attributes"]))
        and _ONE.issuperset(map(sub, column["record_count"], column["last_offset_delta"]))
        and min(column["record_count"]) > 0
    )


def in_bounds(first: int, last: int, facts: LogFacts) -> bool:
    """Whether the first and the last offset are the segment's; those between are, where all follow each other."""
    end = min(facts.base_offset + MAX_RELATIVE_OFFSET, _LARGEST_OFFSET)
    if facts.next_base_offset is not None:
        end = min(end, facts.next_base_offset - 1)
    return facts.base_offset <= first and last <= end


def none_named(first: int, last: int, facts: LogFacts) -> bool:
    """Whether producer snapshots name none of these offsets."""
    return bisect_left(facts.wanted, first) == bisect_right(facts.wanted, last)


def _consecutive(base: Column, count: Column, seen: Stretch) -> bool:
    """Whether each batch begins with the offset after the one before."""
    if seen.last_offset is not None and base[0] != seen.last_offset + 1:
        return False
    return list(map(add, base, count))[:-1] == list(base[1:])


def of_one_epoch(epoch: int, first_base: int, last_base: int, facts: LogFacts, seen: Stretch) -> bool:
    """Whether batches that all have one leader epoch, or none, have that of leader-epoch-checkpoint and of the batches
    before them.
    """
    if epoch < 0:  # written without a leader, which proves nothing
        return True
    if seen.last_epoch not in (epoch, -1):
        return False
    if facts.epochs:
        known, starts = facts.epochs
        line = bisect_right(starts, first_base) - 1
        if bisect_right(starts, last_base) - 1 != line or (line >= 0 and known[line] != epoch):
            return False
    if seen.first_epoch < 0:
        seen.first_epoch = epoch
    seen.last_epoch = epoch
    return True


def _offsets_agree(entries: OffsetEntries, window: Window, positions: Column, last: Column) -> bool:
    """Whether every entry that points into the window names a batch there by its last offset."""
    low, high = bisect_left(entries.positions, window.start), bisect_left(entries.positions, window.end)
    there = dict(zip(positions, last, strict=True))
    return list(map(there.get, entries.positions[low:high])) == list(entries.offsets[low:high])


def _times_agree(entries: TimeEntries, first: int, last: Column, largest: Column, seen: Stretch) -> bool:
    """Whether every entry for an offset of the window names the first batch to reach its timestamp."""
    low, high = bisect_left(entries.offsets, first), bisect_left(entries.offsets, last[-1] + 1)
    before = accumulate(largest, max, initial=seen.max_timestamp)
    rises = list(map(lt, before, largest))
    reached = dict(zip(compress(last, rises), compress(largest, rises), strict=True))
    if list(map(reached.get, entries.offsets[low:high])) != list(entries.timestamps[low:high]):
        return False
    entries.meet_all(low, high)
    return True
