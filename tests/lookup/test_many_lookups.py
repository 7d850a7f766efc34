from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.lookup.many_lookups import ManyLookups
from kidx.lookup.search import STANDARD, WARM, Recorder, search
from kidx.pages.geometry import pages_touched

SHAPES = st.sampled_from([(8, 1024), (12, 682), (12, 5), (8, 3), (34, 20)])


@given(st.data(), SHAPES, st.sampled_from([4096, 512, 64]), st.sampled_from([WARM, STANDARD]))
def test_equal_to_the_plain_search(data: st.DataObject, shape: tuple[int, int], page_bytes: int, kind: str) -> None:
    entry_bytes, warm_entries = shape
    size = data.draw(st.one_of(st.integers(0, 20), st.integers(0, 5 * warm_entries + 600)))
    gap, start = data.draw(st.sampled_from([1, 2, 7, 2**40])), data.draw(st.sampled_from([0, -17, 2**50]))
    numbers = np.arange(size, dtype=np.int64) * gap + start
    slots = data.draw(st.lists(st.integers(-1, size), max_size=8))
    targets = [start + slot * gap + data.draw(st.integers(-1, 1)) for slot in slots]
    targets += [-(2**63), 2**63 - 1, start, start + (size - 1) * gap]
    many = ManyLookups(numbers, entry_bytes, warm_entries)
    asked = np.array(targets, np.int64)
    found = many.look_up(asked, kind, page_bytes)
    assert many.lower(targets).tolist() == found.slots.tolist()
    uppers = many.upper(found.slots, asked)
    pages = many.paths(kind, page_bytes).pages
    listed = numbers.tolist()
    for i, target in enumerate(targets):
        recorder = Recorder(listed.__getitem__)
        bounds = search(recorder, size, warm_entries, target, kind)
        assert (int(found.slots[i]), int(uppers[i])) == bounds
        probed = [slot for slot, _ in recorder.probes]
        assert [p for p in pages[found.paths[i]].tolist() if p >= 0] == pages_touched(probed, entry_bytes, page_bytes)


@pytest.mark.parametrize("kind", [WARM, STANDARD])
def test_every_slot_of_an_index_of_three_warm_sections(kind: str) -> None:
    numbers = np.arange(0, 2 * 2100, 2, dtype=np.int64)
    many = ManyLookups(numbers, 12, 682)
    targets = np.arange(-1, 4202, dtype=np.int64)
    found, pages, listed = many.look_up(targets, kind), many.paths(kind).pages, numbers.tolist()
    for target, slot, path in zip(targets.tolist(), found.slots.tolist(), found.paths.tolist(), strict=True):
        recorder = Recorder(listed.__getitem__)
        assert search(recorder, len(listed), 682, target, kind).lower == slot
        assert [p for p in pages[path].tolist() if p >= 0] == pages_touched((s for s, _ in recorder.probes), 12)


def test_touches_count_each_lookup_once_a_page() -> None:
    many = ManyLookups(np.arange(14 * 512, dtype=np.int64), 8, 1024)
    found = many.look_up(np.array([14 * 512 - 1] * 3 + [-1]), WARM)
    touches = many.paths(WARM).touches(found.paths)
    assert touches.tolist() == [1] + [0] * 10 + [4, 3, 3]


def test_extremes_of_int64() -> None:
    numbers = np.array([-(2**63), 0, 2**63 - 1], np.int64)
    found = ManyLookups(numbers, 12, 682).look_up(np.array([-(2**63), 5, 2**63 - 1], np.int64))
    assert found.slots.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "numbers", [[0, 2**32 + 5], [0, 2**32 - 3], [-(2**63), 9 - 2**63], [2**63 - 9, 2**63 - 1]], ids=str
)
def test_targets_around_the_ends_of_what_an_int_can_say(numbers: list[int]) -> None:
    targets = [t for n in numbers for t in (n - 1, n, n + 1) if -(2**63) <= t < 2**63] + [-(2**63), 2**63 - 1]
    found = ManyLookups(np.array(numbers, np.int64), 12, 682).look_up(np.array(targets, np.int64))
    assert found.slots.tolist() == [sum(n <= t for n in numbers) - 1 for t in targets]


@pytest.mark.parametrize("numbers", [[1, 1], [2, 1]])
def test_numbers_out_of_order_are_refused(numbers: list[int]) -> None:
    with pytest.raises(ValueError, match="strictly rise"):
        ManyLookups(np.array(numbers, np.int64), 8, 1024)
