"""Page-cache models: LRU against an obvious list, the two lists by what must hold of any cache."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.errors import UsageError
from kidx.pages.cache import POLICIES, LruCache, TwoListCache, page_cache

TOUCHES = st.lists(st.lists(st.integers(0, 30), max_size=60), max_size=4)


@given(TOUCHES, st.integers(1, 20))
def test_lru_is_the_obvious_one(calls: list[list[int]], capacity: int) -> None:
    cache, kept = LruCache(capacity), list[int]()
    for touches in calls:
        missed = []
        for i, page in enumerate(touches):
            if page in kept:
                kept.remove(page)
            else:
                missed.append(i)
            kept.append(page)
            del kept[:-capacity]
        assert cache.replay(touches) == missed
        assert [p in cache for p in range(31)] == [p in kept for p in range(31)]


@pytest.mark.parametrize("policy", POLICIES)
@given(calls=TOUCHES, capacity=st.integers(1, 20))
def test_any_cache_holds_what_it_says_and_no_more(policy: str, calls: list[list[int]], capacity: int) -> None:
    cache = page_cache(policy, capacity)
    for touches in calls:
        for page in touches:
            inside = page in cache
            assert cache.replay([page]) == ([] if inside else [0])
            assert page in cache
            assert sum(p in cache for p in range(31)) <= capacity


@pytest.mark.parametrize("policy", POLICIES)
def test_what_fits_is_missed_once(policy: str) -> None:
    assert page_cache(policy, 64).replay(list(range(40)) * 5) == list(range(40))


def test_two_lists_keep_a_page_in_use_through_a_stream_that_lru_loses_it_to() -> None:
    """What the second list is for: pages touched again stay, however many come once."""
    lru, two_lists = LruCache(96), TwoListCache(96)
    fresh = iter(range(1000, 10**6))
    for burst in [40] * 20 + [120]:
        touches = [7, 8, 9, *(next(fresh) for _ in range(burst))]
        lru.replay(touches)
        two_lists.replay(touches)
    assert [p in lru for p in (7, 8, 9)] == [False] * 3
    assert [p in two_lists for p in (7, 8, 9)] == [True] * 3


@pytest.mark.parametrize(("policy", "capacity", "said"), [("fifo", 9, "lru, two-list"), ("lru", 0, "at least one")])
def test_refusals(policy: str, capacity: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        page_cache(policy, capacity)
