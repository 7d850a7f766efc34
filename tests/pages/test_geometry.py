from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kidx.pages.geometry import pages_of_bytes, pages_of_slot, pages_touched


def test_an_entry_of_8_bytes_never_straddles() -> None:
    assert [list(pages_of_slot(s, 8)) for s in (0, 511, 512)] == [[0], [0], [1]]


def test_an_entry_of_12_bytes_may_straddle() -> None:
    assert list(pages_of_slot(341, 12)) == [0, 1]
    full_time_index = 10 * 1024 * 1024 // 12
    straddling = [s for s in range(full_time_index) if len(pages_of_slot(s, 12)) == 2]
    assert (full_time_index, len(straddling)) == (873_813, 1_706)


def test_no_bytes_lie_on_no_page() -> None:
    assert list(pages_of_bytes(5000, 5000)) == []


def test_pages_come_in_order_of_first_touch() -> None:
    assert pages_touched([600, 0, 601, 5], 8) == [1, 0]
    assert pages_touched([341, 0], 12) == [0, 1]
    assert pages_touched([6, 0], 8, page_bytes=16) == [3, 0]


@given(st.lists(st.integers(0, 3000)), st.sampled_from([8, 12, 34]), st.sampled_from([16, 512, 4096]))
def test_pages_are_those_of_every_byte(slots: list[int], width: int, page_bytes: int) -> None:
    seen: list[int] = []
    for slot in slots:
        for byte in range(slot * width, (slot + 1) * width):
            if byte // page_bytes not in seen:
                seen.append(byte // page_bytes)
    assert pages_touched(slots, width, page_bytes) == seen
