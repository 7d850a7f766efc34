"""Where records start: the only step of decoding that must go from record to record.

A record's length tells where the next one starts. So all batches of a buffer are followed in parallel, one record of
each per step; when few batches are left, plain Python is cheaper than steps of short arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kidx.segments.varints import STEP, Bytes, long_ints, steps

if TYPE_CHECKING:
    from kidx.segments.varints import Ints

_FEW_LANES = 24
_HOPS_A_TURN = 128
_LONGEST_RUN = 4096
_STEP_OF = STEP.tolist()  # a list is read one by one much faster than an array


def record_starts(data: Bytes, starts: Ints, ends: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """The starts of all records, batch after batch, and the rows of batches whose records do not end where they should.

    Batch b has `counts[b]` records in the bytes `starts[b]` to `ends[b]`. The starts of a row that is returned as wrong
    are meaningless, but within the buffer.
    """
    slots = np.cumsum(counts) - counts
    out = np.empty(int(counts.sum()), np.int64)
    wrong = (counts == 0) & (starts != ends)
    outside = int(ends.max(initial=0)) + 1  # where runaway chains are kept: in the buffer's slack, no batch ends there
    order = np.argsort(-counts, kind="stable")  # so that the batches that still have records are the first ones
    order = order[: np.count_nonzero(counts)]
    step = 0
    current, slot, sorted_counts = starts[order], slots[order], counts[order]
    active = len(order)
    if active >= _FEW_LANES:
        most = int(sorted_counts[0])
        left = np.searchsorted(-sorted_counts, -np.arange(most), "left").tolist()  # batches with more than k records
        for step in range(most):
            active = left[step]
            if active < _FEW_LANES:
                break
            here = current[:active]
            out[slot[:active]] = here
            here += steps(data, here)
            np.minimum(here, outside, out=here)
            slot[:active] += 1
        else:
            active = 0
        done = order[active:]
        wrong[done] = current[active:] != ends[done]
    for lane in range(active):
        row = int(order[lane])
        records = out[int(slot[lane]) : int(slots[row] + counts[row])]
        wrong[row] = not _hop(data, int(current[lane]), int(ends[row]), records, outside)
    return out, np.flatnonzero(wrong)


def _hop(data: Bytes, at: int, end: int, out: Ints, outside: int) -> bool:
    """Fill `out` with one batch's records from `at` on; returns whether the last one ends at `end`."""
    view, done, count = data.view, 0, len(out)
    while done < count:
        found: list[int] = []
        add = found.append
        for _ in range(min(count - done, _HOPS_A_TURN)):
            add(at)
            first = view[at]
            if first < 0x80 and not first & 1:
                at += (first >> 1) + 1
            elif step := _STEP_OF[first | view[at + 1] << 8]:
                at += step
            else:
                length, used = (int(x[0]) for x in long_ints(data, np.array([at])))
                at = outside if length < 0 else at + length + used
            if at > end:
                out[done:] = outside
                return False
        out[done : done + len(found)] = found
        done += len(found)
        if len(found) > 2 and done < count and at - found[-1] == found[-1] - found[-2]:
            run = _equal_run(data, at, min(count - done, (end - at) // (at - found[-1])), at - found[-1])
            out[done : done + run] = np.arange(at, at + run * (at - found[-1]), at - found[-1])
            done, at = done + run, at + run * (at - found[-1])
    return at == end


def _equal_run(data: Bytes, at: int, most: int, step: int) -> int:
    """How many records from `at` on have the length that takes `step` bytes in all: proved by comparing all lengths."""
    most = min(most, _LONGEST_RUN)
    if most <= 0 or _STEP_OF[data.view[at] | data.view[at + 1] << 8] != step:
        return 0
    same = data.array[at : at + most * step : step] == data.view[at]
    if data.view[at] >= 0x80:
        same &= data.array[at + 1 : at + 1 + most * step : step] == data.view[at + 1]
    return most if same.all() else int(same.argmin())
