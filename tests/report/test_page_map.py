from __future__ import annotations

import pytest

from kidx.report.screens.page_map import WIDTH, PageMap, in_words, page_list


def test_marks_get_heavier_with_the_share_of_lookups() -> None:
    assert PageMap(6, 4).line({1: 1, 2: 10, 3: 100, 4: 1000}, 1999) == "·░░▒█·"
    assert PageMap(3, 2).line({0: 1, 2: 1}, 1) == "█·█"


@pytest.mark.parametrize("pages", [1, 2, 13, 60, 61, 2560, 10**6])
def test_a_map_never_grows_wider_than_its_limit(pages: int) -> None:
    drawn = PageMap(pages, max(0, pages - 3))
    touched = {0: 1, pages - 1: 1}
    line = drawn.line(touched, 1)
    assert len(line) == drawn.width == len(drawn.sections()) <= WIDTH
    assert line[0] == line[-1] == "█"
    assert drawn.ruler().startswith("0") and len(drawn.ruler()) <= WIDTH + 8


def test_color_marks_the_warm_section_alone() -> None:
    assert PageMap(4, 2, color=True).line({0: 1, 3: 1}, 1) == "█·\x1b[32m·█\x1b[0m"


def test_an_empty_file_has_a_map_too() -> None:
    assert PageMap(0, 0).line({}, 0) == "·"


def test_lists_of_pages() -> None:
    assert page_list([3, 1, 2]) == "3 1 2"
    assert page_list(range(20), most=3) == "0 1 2 ... (17 more)"
    assert [in_words(n) for n in ([], [1], [1, 2], [1, 2, 3])] == ["none", "1", "1 and 2", "1, 2 and 3"]
