"""Both searches against the obvious: every slot looked at, one after the other."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kidx.lookup.search import KEY, STANDARD, WARM, Bounds, Recorder, search, standard_search, warm_search
from kidx.pages.geometry import pages_touched

WARM_OFFSETS, WARM_TIMES = 1024, 682


def obvious(numbers: list[int], target: int) -> Bounds:
    """The bounds by definition, but for a target equal to entry 0, which Kafka's upper bound leaves behind."""
    lower = max((slot for slot, number in enumerate(numbers) if number <= target), default=-1)
    upper = min((slot for slot, number in enumerate(numbers) if number >= target), default=-1)
    if upper == 0 and numbers[0] == target:
        upper = 1 if len(numbers) > 1 else -1
    return Bounds(lower, upper)


@st.composite
def rising(draw: st.DrawFn) -> list[int]:
    """Strictly rising numbers, up to several warm sections."""
    size = draw(st.one_of(st.integers(0, 40), st.integers(0, 4000)))
    start, gap = draw(st.integers(-(2**62), 2**62)), draw(st.integers(1, 5))
    uneven = draw(st.integers(0, 3))
    return [start + slot * gap + (slot * uneven) // 2 for slot in range(size)]


@given(rising(), st.data(), st.sampled_from([WARM_OFFSETS, WARM_TIMES, 3]))
def test_both_searches_find_the_bounds(numbers: list[int], data: st.DataObject, warm_entries: int) -> None:
    low, high = (numbers[0] - 2, numbers[-1] + 2) if numbers else (-5, 5)
    target = data.draw(st.integers(low, high))
    for kind in (STANDARD, WARM):
        assert search(numbers.__getitem__, len(numbers), warm_entries, target, kind) == obvious(numbers, target)


@pytest.mark.parametrize("warm_entries", [WARM_OFFSETS, WARM_TIMES])
@pytest.mark.parametrize("around", [0, 1, 2])
def test_sizes_around_several_warm_sections(warm_entries: int, around: int) -> None:
    for size in range(max(0, around * warm_entries - 2), around * warm_entries + 4):
        numbers = list(range(10, 10 + 3 * size, 3))
        near_ends = [*numbers[:3], *numbers[-3:], *numbers[-warm_entries - 3 : -warm_entries + 3]]
        for target in {n + d for n in near_ends for d in (-1, 0, 1)}:
            for kind in (STANDARD, WARM):
                assert search(numbers.__getitem__, size, warm_entries, target, kind) == obvious(numbers, target)


def probes(kind: str, numbers: list[int], target: int, warm_entries: int = WARM_OFFSETS) -> list[int]:
    recorder = Recorder(numbers.__getitem__)
    search(recorder, len(numbers), warm_entries, target, kind)
    return [slot for slot, _ in recorder.probes]


@pytest.mark.parametrize(
    ("full_pages", "kind", "pages"),
    [
        (13, STANDARD, [0, 6, 9, 11, 12]),
        (13, WARM, [10, 11, 12]),
        (14, STANDARD, [0, 7, 10, 12, 13]),
        (14, WARM, [11, 12, 13]),
    ],
)
def test_pages_of_the_last_entry(full_pages: int, kind: str, pages: list[int]) -> None:
    """KAFKA-6432's own example: in-sync readers look up the last entry, and a new page changes what that needs."""
    numbers = list(range(full_pages * 512))
    assert pages_touched(probes(kind, numbers, numbers[-1]), 8) == pages


def test_an_empty_index_is_not_read() -> None:
    assert standard_search(_unread, 0, 5) == warm_search(_unread, 0, WARM_OFFSETS, 5) == Bounds(-1, -1)


def _unread(slot: int) -> int:
    raise AssertionError(f"slot {slot} was read")


def test_a_small_index_is_probed_at_entry_0_twice_before_all() -> None:
    """The warm section then starts at entry 0, and Kafka parses it for each of the two comparisons."""
    assert probes(WARM, [5, 6, 7], 4) == [0, 0]
    assert probes(STANDARD, [5, 6, 7], 4) == [0]


def test_equal_keys_end_the_search_at_once() -> None:
    assert probes(STANDARD, [1, 2, 3, 4, 5], 3) == [0, 2]


@given(st.lists(st.integers(-5, 5), max_size=60), st.integers(-6, 6), st.sampled_from([2, 7, WARM_OFFSETS]))
@example([3, 1, 2], 2, 2)
def test_disorder_never_hangs_nor_leaves_the_index(numbers: list[int], target: int, warm_entries: int) -> None:
    for kind in (STANDARD, WARM):
        found = search(numbers.__getitem__, len(numbers), warm_entries, target, kind)
        assert -1 <= found.lower < max(1, len(numbers)) and -1 <= found.upper < max(1, len(numbers))


def test_recorded_numbers_are_those_compared() -> None:
    recorder = Recorder([10, 20, 30].__getitem__)
    standard_search(recorder, 3, 30)
    assert recorder.probes == [(0, 10), (1, 20), (2, 30)]
    assert KEY == "key"
