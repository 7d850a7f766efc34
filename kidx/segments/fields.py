"""The fields of many records at once, given where each record starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.segments.varints import VALUE_AND_SIZE, Bytes, ints, longs
from kidx.text.spans import Spans

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.segments.varints import Ints

    Bools = npt.NDArray[np.bool_]

_MOST_HEADER_ROUNDS = 64  # records with more headers are left to the plain decoder: each round costs the same


class Fields(NamedTuple):
    """Columns of records, int64, shape (records,): starts are bytes of the buffer, lengths -1 (or less) for null."""

    offset_delta: Ints
    timestamp_delta: Ints
    key_start: Ints
    key_length: Ints
    value_start: Ints
    value_length: Ints
    header_count: Ints
    header_start: Ints


def decode_fields(data: Bytes, starts: Ints, ends: Ints) -> tuple[Fields, Bools]:
    """The fields of the records with these starts and ends, and which of them do not fill their length (or may not).

    A position beyond a record's end is set back to its end. Every later field takes at least a byte, so a record whose
    fields do not fit cannot end correctly by accident. `data` may have any content; nothing outside it is read.
    """
    timestamps, deltas, at, wrong = _first_fields(data, starts)
    np.minimum(at, ends, out=at)
    key_start, key_length, at = _nullable(data, at, ends, wrong)
    value_start, value_length, at = _nullable(data, at, ends, wrong)
    headers, used = ints(data, at)
    at += used
    wrong |= (headers < 0) | (headers > ends - at)
    header_start = at.copy()
    _skip_headers(data, at, ends, headers, wrong)
    wrong |= at != ends
    return Fields(deltas, timestamps, key_start, key_length, value_start, value_length, headers, header_start), wrong


def header_spans(data: Bytes, starts: Ints, counts: Ints) -> tuple[Spans, Spans]:
    """Keys and values of all headers, record after record: of records that decode_fields has found sound."""
    slots = counts.cumsum() - counts
    columns = np.empty((4, int(counts.sum())), np.int64)
    rows = np.flatnonzero(counts)
    at, slots, left = starts[rows], slots[rows], counts[rows]
    while len(rows):
        for first in (0, 2):  # the key's start and length, then the value's
            length, used = ints(data, at)
            at += used
            columns[first, slots], columns[first + 1, slots] = at, length
            at += np.maximum(length, 0)
        slots += 1
        left -= 1
        more = left > 0
        if not more.all():
            rows, at, slots, left = rows[more], at[more], slots[more], left[more]
    return Spans(data.array, columns[0], columns[1]), Spans(data.array, columns[2], columns[3])


def _first_fields(data: Bytes, starts: Ints) -> tuple[Ints, Ints, Ints, Bools]:
    """Timestamp deltas, offset deltas, where the key's length is, and which records have a negative length.

    Length, attributes and both deltas usually fit into one word of eight bytes: one read for all four.
    """
    word = data.words[starts]
    pair = np.uint64(0xFFFF)
    negative = (word & np.uint64(1)).astype(np.bool_)
    used = VALUE_AND_SIZE.take((word & pair).view(np.int64)) & 15
    slow = used == 0
    used += 1  # the attributes
    at = starts + used
    word >>= (used << 3).view(np.uint64)
    timestamps = VALUE_AND_SIZE.take((word & pair).view(np.int64))
    used = timestamps & 15
    timestamps >>= 4
    slow |= used == 0
    at += used
    word >>= (used << 3).view(np.uint64)
    deltas = VALUE_AND_SIZE.take((word & pair).view(np.int64))
    used = deltas & 15
    deltas >>= 4
    slow |= used == 0
    at += used
    if slow.any():
        rows = np.flatnonzero(slow)
        last = len(data.words) - 1
        here = starts[rows]
        here = np.minimum(here + ints(data, here)[1] + 1, last)
        timestamps[rows], used = longs(data, here)
        here = np.minimum(here + used, last)
        deltas[rows], used = ints(data, here)
        at[rows] = here + used
    return timestamps, deltas, at, negative


def _nullable(data: Bytes, at: Ints, ends: Ints, wrong: Bools, *, null: bool = True) -> tuple[Ints, Ints, Ints]:
    """A field after its length: its start, its length, and the byte after it; sets `wrong` if it does not fit."""
    lengths, used = ints(data, at)
    starts = at + used
    behind = starts + np.maximum(lengths, 0)
    wrong |= behind > ends
    if not null:
        wrong |= lengths < 0
    np.minimum(behind, ends, out=behind)
    return starts, lengths, behind


def _skip_headers(data: Bytes, at: Ints, ends: Ints, headers: Ints, wrong: Bools) -> None:
    """Move `at` past the headers of the records that have some, one header of each record per round."""
    rows = np.flatnonzero((headers > 0) & ~wrong)
    left = headers[rows]
    for _ in range(_MOST_HEADER_ROUNDS):
        if not len(rows):
            return
        bad = np.zeros(len(rows), np.bool_)
        here, end = at[rows], ends[rows]
        _, _, here = _nullable(data, here, end, bad, null=False)
        _, _, here = _nullable(data, here, end, bad)
        at[rows] = here
        wrong[rows] |= bad
        left -= 1
        going_on = (left > 0) & ~bad
        rows, left = rows[going_on], left[going_on]
    wrong[rows] = True
