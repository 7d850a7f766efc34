"""A file's pages as one line of marks: which are touched, how often, and where the warm section begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

WIDTH = 60  # marks in a line; in larger files a mark stands for several pages
_LIMITS = (0.01, 0.1, 0.5)  # shares of the look-ups from which on the mark is heavier
_MARKS = "·░▒▓█"
_WARM_COLOR, _PLAIN = "\x1b[32m", "\x1b[0m"


class PageMap:
    """Maps of a file of `pages` pages whose warm section begins on page `warm_from`.

    `color` marks the warm section green.
    """

    def __init__(self, pages: int, warm_from: int, *, color: bool = False) -> None:
        self.pages, self.warm_from, self._color = pages, warm_from, color
        self.pages_a_mark = max(1, -(-pages // WIDTH))
        self.width = max(1, -(-pages // self.pages_a_mark))
        self._warm_mark = warm_from // self.pages_a_mark

    def line(self, touched: Mapping[int, int], lookups: int) -> str:
        """The marks for `touched`: how many of the `lookups` touch each page. A mark shows its largest number."""
        most = [0] * self.width
        for page, times in touched.items():
            mark = page // self.pages_a_mark
            most[mark] = max(most[mark], times)
        drawn = [_MARKS[0] if not times else _MARKS[1 + self._weight(times, lookups)] for times in most]
        return self._colored("".join(drawn))

    def ruler(self) -> str:
        """Page numbers above the marks: the first, every tenth mark's, and the last where there is room."""
        if not self.pages:
            return ""
        line = [" "] * (self.width + 12)
        free = 0
        for mark in (*range(0, self.width, 10), self.width - 1):
            label = str(min(mark * self.pages_a_mark, self.pages - 1) if mark < self.width - 1 else self.pages - 1)
            if mark >= free:
                line[mark : mark + len(label)] = label
                free = mark + len(label) + 1
        return "".join(line).rstrip()

    def sections(self) -> str:
        """Brackets under the marks, around the cold pages and around those of the warm section."""
        cold = self._bracket(self._warm_mark, "cold")
        return cold + self._colored_part(self._bracket(self.width - self._warm_mark, "warm"))

    def legend(self) -> str:
        """The meaning of the marks where look-ups are counted."""
        none, light, medium, heavy, full = tuple(_MARKS)
        return f"{none} none   {light} under 1%   {medium} under 10%   {heavy} under 50%   {full} more of the look-ups"

    def _weight(self, times: int, lookups: int) -> int:
        return sum(times / lookups >= limit for limit in _LIMITS)

    def _bracket(self, width: int, label: str) -> str:
        if width <= 1:
            return "│" * width
        inner = f" {label} " if width >= len(label) + 4 else label if width >= len(label) + 2 else ""
        return "└" + inner.center(width - 2, "─") + "┘"

    def _colored(self, marks: str) -> str:
        return marks[: self._warm_mark] + self._colored_part(marks[self._warm_mark :])

    def _colored_part(self, text: str) -> str:
        return f"{_WARM_COLOR}{text}{_PLAIN}" if self._color and text else text


def page_list(pages: Sequence[int], most: int = 16) -> str:
    """Page numbers for a line of text, at most `most` of them."""
    shown = " ".join(map(str, pages[:most]))
    return shown if len(pages) <= most else f"{shown} ... ({len(pages) - most} more)"


def in_words(numbers: Iterable[int]) -> str:
    """1, 2 and 3."""
    words = [str(n) for n in numbers]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}" if words else "none"
