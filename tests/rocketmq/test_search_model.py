"""Time searches against what anybody would write: look at every message's time."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kidx.pages.geometry import pages_of_bytes
from kidx.rocketmq.formats import UNIT, leading_units
from kidx.rocketmq.open import open_store
from kidx.rocketmq.queues import ConsumeQueue
from kidx.rocketmq.search_pages import pages_of, probe_rows
from kidx.rocketmq.time_search import LOWER, UPPER, Search
from tests.rocketmq.building import make_store

TIMES = st.lists(st.integers(1000, 1040), min_size=1, max_size=60).map(sorted)
ASKED = st.lists(st.integers(990, 1050), min_size=1, max_size=12)


def _search(root: str, times: list[int], units: int, algorithm: str) -> tuple[Search, ConsumeQueue]:
    store = open_store(str(make_store(Path(root) / "s", times, units)), algorithm=algorithm)
    queue = store.queue("T", 0)
    assert isinstance(queue, ConsumeQueue)
    assert (queue.min_offset, queue.max_offset) == (0, len(times))
    return Search(queue, store.log, checks_end=True), queue


@given(times=TIMES, asked=ASKED, units=st.integers(2, 20))
def test_current_is_the_first_at_or_after_and_the_last_at_or_before(
    times: list[int], asked: list[int], units: int
) -> None:
    with tempfile.TemporaryDirectory() as root:
        search, _ = _search(root, times, units, "current")
        for time in asked:
            assert search.current(time, LOWER) == sum(t < time for t in times)
            assert search.current(time, UPPER) == max(0, sum(t <= time for t in times) - 1)


@given(times=st.sets(st.integers(1000, 1400), min_size=1, max_size=60).map(sorted), asked=ASKED)
def test_classic_is_the_nearest_the_earlier_of_two(times: list[int], asked: list[int]) -> None:
    with tempfile.TemporaryDirectory() as root:
        search, _ = _search(root, times, 64, "classic")
        for time in [*asked, *times]:
            nearest = min(range(len(times)), key=lambda i: (abs(times[i] - time), i))
            assert search.classic(time, clamp=True) == nearest


@given(times=TIMES, time=st.integers(990, 1050), units=st.integers(2, 20))
def test_pages_are_those_of_the_bytes_read(times: list[int], time: int, units: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        search, queue = _search(root, times, units, "current")
        search.current(time, LOWER)
        cold = pages_of(search.probes, queue)
        for probe, row in zip(search.probes, probe_rows(search.probes, queue), strict=True):
            assert times[row["offset"]] == row["timestamp"]
            touched = [page["page"] for page in row["consume_queue"]]
            assert touched == list(pages_of_bytes(probe.position, probe.position + 12))
            assert all(page in cold["commit_log"] for page in row["commit_log"])
        search.current(time, LOWER)
        assert pages_of(search.probes, queue) == cold
        assert all(page in cold["consume_queue"] for page in cold["warm"]["consume_queue"])


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-1, 1)), max_size=40))
def test_leading_units_stop_at_the_first_that_is_none(units: list[tuple[int, int, int]]) -> None:
    data = b"".join(UNIT.struct.pack(*unit) for unit in units)
    expected = next((i for i, (at, size, _) in enumerate(units) if at < 0 or size <= 0), len(units))
    assert leading_units(data) == expected
