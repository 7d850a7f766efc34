"""The rows that a process fills for another, window by window, against all batches at once."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from kidx.formats.batches import SMALLEST_ENTRY
from kidx.surgery.batch_facts import _Read, _SharedRows
from kidx.surgery.recovered_transactions import Event

SMALLEST = min(SMALLEST_ENTRY.values())
BATCHES = st.tuples(st.integers(SMALLEST, 300), st.integers(-1, 9))  # bytes, largest timestamp


@example([[(100, 5), (100, 4)], [], [(100, 3), (100, 9)]], 150)
@example([[(SMALLEST, 1)] * 40, [(SMALLEST, 0)] * 40], 0)
@given(st.lists(st.lists(BATCHES, max_size=6), min_size=1, max_size=6), st.integers(0, 700))
def test_rows_filled_window_by_window(windows: list[list[tuple[int, int]]], interval_bytes: int) -> None:
    sizes = [size for window in windows for size, _ in window]
    starts = [0, *accumulate(sizes)]
    times = [time for window in windows for _, time in window]
    reads, row = [], 0
    for number, window in enumerate(windows):
        rows = range(row, row + len(window))
        row = rows.stop
        reads.append(
            _Read(
                np.array(starts[rows.start : rows.stop], np.int64),
                np.array([3 * n for n in rows], np.int64),
                np.array(times[rows.start : rows.stop], np.int64),
                [Event(number, n, None) for n in rows],
                starts[row],
                "torn" if number == len(windows) - 1 else None,
            )
        )
    shared = _SharedRows(starts[-1])
    facts = shared.facts(shared.fill(iter(reads), interval_bytes))
    positions = starts[:-1]
    assert facts.position.tolist() == positions
    assert facts.relative_last_offset.tolist() == [3 * n for n in range(row)]
    assert facts.largest_timestamp.tolist() == list(accumulate(times, max))
    following = [
        next((n for n, later in enumerate(positions) if later > position + interval_bytes), row)
        for position in positions
    ]
    assert facts.next_entry.tolist() == following
    chain, at = [], 0
    while at < row:
        chain.append(at)
        at = following[at]
    assert list(facts.chain) == chain
    assert [event.offset for event in facts.events] == list(range(row))
    assert (facts.end, facts.broken) == (starts[-1], "torn")
