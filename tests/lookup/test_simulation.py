"""Simulated look-ups: paths in lock-step are Kafka's searches; a workload costs what its page touches cost."""

from __future__ import annotations

from itertools import count
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.errors import UsageError
from kidx.lookup.many_lookups import NO_SLOT, pages_in_order, probed_slots
from kidx.lookup.search import Recorder, standard_search, warm_search
from kidx.lookup.simulation import simulate
from kidx.lookup.workload import MAX_EVENTS, Reader, Workload, parse_workload
from kidx.pages.cache import PageCache, page_cache
from kidx.pages.geometry import pages_touched


@given(st.lists(st.tuples(st.integers(1, 9000), st.integers(0, 8999)), min_size=1, max_size=20), st.booleans(),
       st.sampled_from([None, 1, 3, 682, 1024]), st.sampled_from([8, 12]))  # fmt: skip
def test_lock_step_reads_the_slots_that_each_search_reads(
    asked: list[tuple[int, int]], exact: bool, warm: int | None, entry_bytes: int
) -> None:
    asked = [(n, slot % n) for n, slot in asked]
    probed = probed_slots(np.array([n for n, _ in asked]), np.array([s for _, s in asked]), warm, exact=exact)
    rows, pages = pages_in_order(probed, entry_bytes, 4096)
    for i, (n, slot) in enumerate(asked):
        recorder = Recorder(lambda s: s * 2)
        target = slot * 2 + (not exact)
        found = standard_search(recorder, n, target) if warm is None else warm_search(recorder, n, warm, target)
        assert found.lower == slot
        slots = [s for s, _ in recorder.probes]
        assert [s for s in probed[i].tolist() if s != NO_SLOT] == slots
        assert list(dict.fromkeys(pages[rows == i].tolist())) == pages_touched(slots, entry_bytes)


def test_a_growing_index_needs_the_pages_that_the_tables_say() -> None:
    """The last entry of an index of 13 and 14 full pages (KAFKA-6432)."""
    n = np.array([13 * 512, 14 * 512])
    for warm, tables in ((None, [[0, 6, 9, 11, 12], [0, 7, 10, 12, 13]]), (1024, [[10, 11, 12], [11, 12, 13]])):
        rows, pages = pages_in_order(probed_slots(n, n - 1, warm, exact=True), 8, 4096)
        assert [list(dict.fromkeys(pages[rows == i].tolist())) for i in (0, 1)] == tables


READER_LIMITS = {"members": (1, 100_000), "lag": (0, 2**28), "read-pages": (0, 1_000_000)}
TAIL = Workload(partitions=2, start=3000, seconds=400, append=20, readers=(Reader("follower", 1, 20.0),))


@pytest.mark.parametrize("policy", ["lru", "two-list"])
def test_warm_section_search_does_not_fault_where_the_standard_one_does(policy: str) -> None:
    standard = simulate(TAIL, page_cache(policy, 800), None)
    warm = simulate(TAIL, page_cache(policy, 800), 8192)
    assert len(standard.seconds) == len(warm.seconds) == 2 * 400 * 20
    assert standard.index_faults.sum() > (20 if policy == "lru" else -1)  # Linux's second list saves what it can
    assert warm.index_faults.sum() == 0
    assert standard.log_faults.sum() == warm.log_faults.sum() == 0  # what was just appended is in memory
    assert (np.diff(standard.seconds) >= 0).all()
    assert standard.entries.max() == 3000 + 400 * 20 - 1


def test_a_lagging_reader_costs_the_others_and_less_so_from_a_slave() -> None:
    readers = (Reader("consumer", 1, 20.0, 100), Reader("batch", 1, 20.0, 2500, 64))
    workload = TAIL._replace(readers=readers)
    both = simulate(workload, page_cache("lru", 800), 8192)
    elsewhere = simulate(workload, page_cache("lru", 800), 8192, away=frozenset({1}))
    assert set(elsewhere.reader.tolist()) == {0}
    assert both.log_faults[both.reader == 0].sum() > 10_000 > 200 > elsewhere.log_faults.sum()


def test_the_schedule_does_not_depend_on_how_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate(TAIL, page_cache("lru", 500), None)
    monkeypatch.setattr("kidx.lookup.simulation._EVENTS_AT_ONCE", 777)
    cut = simulate(TAIL, page_cache("lru", 500), None)
    for a, b in zip(whole, cut, strict=True):
        assert (a == b).all()


def test_a_workload_file() -> None:
    text = """
    partitions 4   # each with an index
    start 6000
    append 12.5
    reader follower members 2 rate 10
    reader batch lag 4000 read-pages 16
    """
    assert parse_workload(text.splitlines(), "w") == Workload(
        4, 6000, 60.0, 12.5, 1, 8, (Reader("follower", 2, 10.0), Reader("batch", 1, 10.0, 4000, 16))
    )


def test_a_workload_of_which_nothing_is_said() -> None:
    readers = (Reader("follower", 2, 10.0, 0, 1), Reader("consumer", 1, 10.0, 2, 1))
    assert parse_workload(["# nothing"], "w") == Workload(1, 0, 60.0, 20.0, 1, 8, readers)
    assert parse_workload(["reader a"], "w").readers == (Reader("a", 1, 10.0, 0, 1),)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("partitions", 1, 100_000), ("start", 0, 2**28), ("log-pages", 0, 1_000_000), ("entry-bytes", 1, 4096)]
    + [(f"reader a {name}", *limits) for name, limits in READER_LIMITS.items()],
)
def test_the_ends_of_what_a_number_may_be(name: str, least: int, most: int) -> None:
    for value in (least, most):
        parse_workload([f"{name} {value}", "seconds 0.001", "append 0"], "w")
    for value in (least - 1, most + 1):
        with pytest.raises(UsageError, match=f"{value} is out of range"):
            parse_workload([f"{name} {value}", "seconds 0.001", "append 0"], "w")


def test_the_longest_and_the_busiest_workload() -> None:
    slow = parse_workload(["seconds 10000000", "append 0", "reader a rate 0.000001"], "w")
    assert slow.seconds == 10_000_000
    assert parse_workload(["append 1000000", "seconds 0.001"], "w").append == 1_000_000
    all_events = parse_workload(["seconds 50", "append 0", "reader a rate 1000000"], "w")
    assert all_events.seconds * all_events.readers[0].rate == MAX_EVENTS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("partitions", "line 1: partitions takes one number"),
        ("\npartitions 0", "line 2: partitions 0 is out of range"),
        ("partitions 1.5", "no whole number"),
        ("append x", "'x' is no number"),
        ("append nan", "append nan is out of range"),
        ("speed 3", "'speed' is unknown"),
        ("reader", "takes a name and pairs"),
        ("reader a lag", "takes a name and pairs"),
        ("reader a depth 3", "has no 'depth'"),
        ("reader a rate 0", "rate 0 is out of range"),
        ("seconds 1e6\npartitions 1000", "at most 50,000,000"),
        ("reader a members 1000 rate 1000", "60,001,200 appends and look-ups; at most 50,000,000"),
        ("seconds 10000001", "seconds 10000001 is out of range; it takes 0.001 to 1e"),
        ("append 1000001", "append 1000001 is out of range; it takes 0 to 1e"),
    ],
)
def test_workload_files_with_errors(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_workload(text.split("\n"), "w")


def test_workloads_that_ask_nothing() -> None:
    with pytest.raises(UsageError, match="no look-ups"):
        simulate(TAIL, page_cache("lru", 5), None, away=frozenset({0}))
    with pytest.raises(UsageError, match="holds no entry"):
        simulate(TAIL, page_cache("lru", 5), 7)


def one_by_one(
    workload: Workload, cache: PageCache, warm_bytes: int | None, page_bytes: int, away: frozenset[int]
) -> list[tuple[float, int, int, int, int, int]]:
    """simulate() written down plainly: one event after another, each page by itself."""
    width, per_entry = workload.entry_bytes, workload.log_pages

    def index_page(partition: int, slot: int) -> tuple[str, int, int]:
        return "index", partition, slot * width // page_bytes

    def phase(number: int) -> float:
        return number * 0.6180339887498949 % 1.0

    written = -(-workload.start * width // page_bytes)
    for page in range(max(0, written - cache.capacity), written):  # type: ignore[attr-defined]
        cache.replay([("index", p, page) for p in range(workload.partitions)])  # type: ignore[misc]
    for page in range((workload.start - 1) * per_entry, workload.start * per_entry) if workload.start else ():
        cache.replay([("log", p, page) for p in range(workload.partitions)])  # type: ignore[misc]

    events = []
    sources = [(-1, workload.append, 1), *((i, r.rate, r.members) for i, r in enumerate(workload.readers))]
    for who, rate, members in sources:
        for member in range(workload.partitions * members) if rate and who not in away else ():
            for number in count():
                if number + phase(member) >= workload.seconds * rate:
                    break
                events.append(((number + phase(member)) / rate, who, member % workload.partitions, number))

    done = []
    for seconds, who, partition, number in sorted(events):
        appended = max(0, ceil(seconds * workload.append - phase(partition)))
        entries = workload.start + (number + 1 if who < 0 else appended)
        pages: list[tuple[str, int, int]] = []
        if who < 0:
            slot, wanted = entries - 1, per_entry
            pages.append(index_page(partition, slot))
        else:
            reader = workload.readers[who]
            step = max(1, reader.read_pages // max(1, per_entry))
            slot = max(0, entries - 1 - reader.lag + number * step % (reader.lag + 1))
            wanted = max(0, min(reader.read_pages, (entries - slot) * per_entry))
            recorder = Recorder(lambda s: s * 2)
            if not entries:
                pass
            elif warm_bytes is None:
                standard_search(recorder, entries, slot * 2 + 1)
            else:
                warm_search(recorder, entries, warm_bytes // width, slot * 2 + 1)
            for probed, _ in recorder.probes:
                for page in dict.fromkeys((probed * width // page_bytes, (probed * width + width - 1) // page_bytes)):
                    if not pages or pages[-1] != ("index", partition, page):
                        pages.append(("index", partition, page))
        pages += [("log", partition, slot * per_entry + n) for n in range(wanted)]
        missed = [pages[at][0] for at in cache.replay(pages)]  # type: ignore[arg-type]
        if who >= 0 and entries:
            done.append((seconds, who, partition, entries, missed.count("index"), missed.count("log")))
    return done


WORKLOADS = {
    "tail": Workload(3, 5, 4.0, 3.0, 1, 8, (Reader("follower", 2, 2.5), Reader("consumer", 1, 4.0, 2))),
    "from nothing": Workload(2, 0, 5.0, 2.0, 2, 12, (Reader("a", 1, 3.0),)),
    "no appends": Workload(2, 40, 3.0, 0.0, 1, 12, (Reader("a", 1, 3.0, 30, 3), Reader("b", 1, 3.0))),
    "behind": Workload(2, 90, 6.0, 4.0, 3, 12, (Reader("a", 3, 2.0, 60, 7), Reader("b", 1, 1.0, 5, 0))),
    "no log": Workload(2, 20, 4.0, 4.0, 0, 8, (Reader("a", 1, 2.0, 10, 4),)),
    "one entry": Workload(1, 1, 4.0, 1.0, 4, 8, (Reader("a", 1, 2.0, 0, 2),)),
}


@pytest.mark.parametrize("warm_bytes", [None, 24, 200])
@pytest.mark.parametrize("capacity", [3, 12, 400])
@pytest.mark.parametrize(("workload", "away"), [
    *((w, frozenset[int]()) for w in WORKLOADS.values()), (WORKLOADS["behind"], frozenset({0})),
], ids=[*WORKLOADS, "a reader away"])  # fmt: skip
def test_events_cost_what_they_do_one_by_one(
    workload: Workload, away: frozenset[int], capacity: int, warm_bytes: int | None
) -> None:
    simulated = simulate(workload, page_cache("lru", capacity), warm_bytes, page_bytes=64, away=away)
    expected = one_by_one(workload, page_cache("lru", capacity), warm_bytes, 64, away)
    assert list(zip(*(column.tolist() for column in simulated), strict=True)) == expected
    assert len(expected) >= 8


def test_a_reader_at_the_end_fetches_no_page_past_it() -> None:
    workload = Workload(2, 100, 5.0, 0.0, 1, 8, (Reader("at the end", 1, 10.0, 0, 16),))
    costs = simulate(workload, page_cache("lru", 1000), None)
    assert len(costs.seconds) == 100 and costs.log_faults.sum() == 0
