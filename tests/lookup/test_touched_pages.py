"""Pages that workloads of look-ups touch: by arrays as by single searches, and as an index grows."""

from __future__ import annotations

from collections import Counter

import pytest

from kidx.errors import UsageError
from kidx.evidence import from_bytes
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX
from kidx.lookup.index import IndexReader
from kidx.lookup.search import STANDARD, WARM
from kidx.lookup.touched_pages import (
    ALL,
    MANY,
    TAIL,
    UNIFORM,
    growth,
    lookup_by_key,
    touches_of,
    workload_targets,
)
from tests.support import KAFKA_SETS

PAGES14 = KAFKA_SETS[0] / f"clean/pages14-0/{0:020}.index"


@pytest.fixture
def index() -> IndexReader:
    return IndexReader(from_bytes(PAGES14.read_bytes(), str(PAGES14)), OFFSET_INDEX, 0)


@pytest.mark.parametrize("kind", [WARM, STANDARD])
@pytest.mark.parametrize("page_bytes", [4096, 512])
def test_many_lookups_touch_what_each_touches(index: IndexReader, kind: str, page_bytes: int) -> None:
    targets = list(range(-1, 3 * MANY, 3))
    one_by_one: Counter[int] = Counter()
    for target in targets:
        one_by_one.update(lookup_by_key(index, target, kind, page_bytes).pages)
    assert len(targets) > MANY and dict(touches_of(index, targets, kind, page_bytes)) == dict(one_by_one)
    few = targets[:5]
    assert touches_of(index, few, kind, page_bytes) == sum(
        (Counter(lookup_by_key(index, target, kind, page_bytes).pages) for target in few), Counter()
    )


def test_a_way_is_its_slot_its_probes_and_their_pages(index: IndexReader) -> None:
    last = index.entries - 1
    way = lookup_by_key(index, index.entry(last)[0], STANDARD)
    assert (way.slot, way.probes[:2], way.pages) == (last, [0, 3584], [0, 7, 10, 12, 13])


def test_workloads_are_keys_of_the_index(index: IndexReader) -> None:
    keys = [index.entry(slot)[0] for slot in range(index.entries)]
    assert workload_targets(index, ALL, 1) == keys
    assert workload_targets(index, TAIL, 1) == keys[-1024:]
    uniform = workload_targets(index, UNIFORM, 1)
    assert len(uniform) == 100_000 and uniform == workload_targets(index, UNIFORM, 1)
    assert uniform != workload_targets(index, UNIFORM, 2)
    assert keys[0] <= min(uniform) <= keys[0] + 50 and keys[-1] - 50 <= max(uniform) <= keys[-1]


def test_an_index_of_two_entries_is_drawn_from_whole() -> None:
    index = IndexReader(from_bytes(bytes([0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 7, 0, 0, 0, 99])), OFFSET_INDEX, 10)
    assert set(workload_targets(index, UNIFORM, 1)) == {15, 16, 17}


def test_an_empty_index_has_no_workload() -> None:
    with pytest.raises(UsageError, match=r"some\.index: it has no entries"):
        workload_targets(IndexReader(from_bytes(b"", "some.index"), OFFSET_INDEX, 0), TAIL, 1)


def test_an_index_out_of_order_is_searched_one_by_one() -> None:
    data = PAGES14.read_bytes()
    swapped = IndexReader(from_bytes(data[8:16] + data[:8] + data[16:]), OFFSET_INDEX, 0)
    assert swapped.many_lookups() is None
    targets = [swapped.entry(0)[0]] * MANY
    assert touches_of(swapped, targets, WARM) == Counter(
        dict.fromkeys(lookup_by_key(swapped, targets[0], WARM).pages, MANY)
    )


def test_a_new_page_moves_the_middles_of_the_standard_search_alone() -> None:
    """KAFKA-6432's example: from 13 to 14 full pages."""
    assert growth(14, OFFSET_INDEX.size, STANDARD) == (14, 7168, 11, [0, 7, 10, 12, 13], [7, 10, 13])
    assert growth(14, OFFSET_INDEX.size, WARM) == (14, 7168, 11, [11, 12, 13], [13])
    assert growth(1, OFFSET_INDEX.size, WARM) == (1, 512, 0, [0], [0])
    assert growth(6, TIME_INDEX.size, WARM).warm_from_page == (2048 - 1 - 682) * 12 // 4096
