"""A window in which there is nothing to tell, told with arrays: what kidx.checks.quiet does, for thousands of batches.

The checks that find and name what is wrong pass over a window some forty times. A healthy one needs a dozen passes.
Only the array core is used (kidx.light_numpy): array methods rather than numpy's functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kidx.checks.quiet import USUAL_BITS, in_bounds, none_named, of_one_epoch
from kidx.formats.batches import CODEC_MASK
from kidx.formats.compression import ZSTD

if TYPE_CHECKING:
    from kidx.checks.against_log import OffsetEntries, TimeEntries
    from kidx.checks.stretch import LogFacts, Stretch
    from kidx.segments.windows import Ints, Window


def pass_quietly(
    window: Window, facts: LogFacts, seen: Stretch, offsets: OffsetEntries | None, times: TimeEntries | None
) -> bool:
    """Whether a window is as it should be in every way; `seen` and the entries met are brought up to date then."""
    if window.bad_crc or facts.deep or not _usual(window):
        return False
    base, last, largest = window.column("base_offset"), window.last_offset, window.column("max_timestamp")
    first_offset, last_offset, top = int(base[0]), int(last[-1]), int(largest.max())
    if not (
        in_bounds(first_offset, last_offset, facts)
        and (seen.last_offset is None or first_offset == seen.last_offset + 1)
        and bool((base[1:] - last[:-1] == 1).all())
        and top <= facts.future_ms
        and none_named(first_offset, last_offset, facts)
        and (offsets is None or _offsets_agree(offsets, window))
        and _one_epoch(window, facts, seen)
        and (times is None or _times_agree(times, window, largest, seen))
    ):
        return False
    if int(window.column("producer_id").max()) >= 0:
        seen.producers.take(window, largest <= top, [])
    seen.met(first_offset, last_offset, int(window.position[-1]), top, len(window))
    return True


def _usual(window: Window) -> bool:
    """Whether all are batches of today's format, outside transactions, with every record that they had."""
    magic, bits, count = window.column("magic"), window.column("attributes"), window.column("record_count")
    return (
        int(magic.min()) == int(magic.max()) == 2
        and int(np.bitwise_or.reduce(bits)) & ~USUAL_BITS == 0
        and int((bits & CODEC_MASK).max()) <= ZSTD
        and int(count.min()) > 0
        and bool((count - window.column("last_offset_delta") == 1).all())
    )


def _one_epoch(window: Window, facts: LogFacts, seen: Stretch) -> bool:
    epochs, base = window.column("leader_epoch"), window.column("base_offset")
    epoch = int(epochs.max())
    return epoch == int(epochs.min()) and of_one_epoch(epoch, int(base[0]), int(base[-1]), facts, seen)


def _offsets_agree(entries: OffsetEntries, window: Window) -> bool:
    """Whether every entry that points into the window names a batch there by its last offset."""
    positions, offsets = np.asarray(entries.positions), np.asarray(entries.offsets)
    low, high = positions.searchsorted((window.start, window.end)).tolist()
    wanted = positions[low:high]
    rows = window.position.searchsorted(wanted)
    return low == high or (
        int(rows[-1]) < len(window)
        and bool((window.position[rows] == wanted).all())
        and bool((window.last_offset[rows] == offsets[low:high]).all())
    )


def _times_agree(entries: TimeEntries, window: Window, largest: Ints, seen: Stretch) -> bool:
    """Whether every entry for an offset of the window names the first batch to reach its timestamp."""
    last, offsets, timestamps = window.last_offset, np.asarray(entries.offsets), np.asarray(entries.timestamps)
    low, high = offsets.searchsorted((int(window.column("base_offset")[0]), int(last[-1]) + 1)).tolist()
    if low == high:
        return True
    wanted = offsets[low:high]
    rows = last.searchsorted(wanted)
    so_far = np.maximum.accumulate(largest)
    before = so_far[rows - 1]
    before[rows == 0] = seen.max_timestamp
    np.maximum(before, seen.max_timestamp, out=before)
    if not (
        bool((last[rows] == wanted).all())
        and bool((largest[rows] == timestamps[low:high]).all())
        and bool((largest[rows] > before).all())
    ):
        return False
    entries.meet_all(low, high)
    return True
