"""SVG drawings: shapes, a line chart and page maps, in colours for light and dark screens.

Colour never carries meaning alone: series also differ in dash and label, touched cells in a mark or number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

SERIES = ("a", "b", "c", "d")
DASHES = ("", "7 4", "2 3", "9 3 2 3")
LIGHT = {
    "ink": "#1d2530",
    "faint": "#c9d0d8",
    "paper": "#ffffff",
    "a": "#b3470b",
    "b": "#1463b0",
    "c": "#5b6b12",
    "d": "#7a3fa0",
}
DARK = {
    "ink": "#e4e9ef",
    "faint": "#45505c",
    "paper": "#14181d",
    "a": "#ff9d5c",
    "b": "#6db6ff",
    "c": "#c3d65a",
    "d": "#cf9bf0",
}


def _colours(palette: dict[str, str]) -> str:
    """Rules of one palette. No CSS variables: not everything that shows an SVG knows them."""
    lines = "".join(
        f".{name} {{ stroke: {palette[name]} }} .fill-{name} {{ fill: {palette[name]} }} " for name in SERIES
    )
    return (
        f".paper {{ fill: {palette['paper']} }} text {{ fill: {palette['ink']} }} .on {{ fill: {palette['paper']} }} "
        f".axis, .new {{ stroke: {palette['ink']} }} .grid, .cell {{ stroke: {palette['faint']} }} {lines}"
    )


def style() -> str:
    """The style sheet of every drawing: light, and dark where the reader's system asks for it."""
    return (
        "svg { font: 13px system-ui, sans-serif } .small { font-size: 11px } "
        ".title { font-weight: 600; font-size: 15px } "
        ".axis, .grid, .cell, .new, .line { fill: none } .line { stroke-width: 2 } .on { font-weight: 600 } "
        f".new {{ stroke-width: 2; stroke-dasharray: 3 2 }} {_colours(LIGHT)}"
        f"@media (prefers-color-scheme: dark) {{ {_colours(DARK)}}}"
    )


class Drawing:
    """Shapes, in the order they are painted; sizes in pixels, y downwards."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._shapes: list[str] = []

    def rect(
        self, x: float, y: float, width: float, height: float, style: str, opacity: float = 1.0, tip: str = ""
    ) -> None:
        """A rectangle of a class of style(); `tip` shows where the mouse rests."""
        inner = f"<title>{escape(tip)}</title>" if tip else ""
        faded = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
        self._shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{style}"{faded}>{inner}</rect>'
        )

    def text(self, x: float, y: float, words: str, style: str = "", anchor: str = "start") -> None:
        """Text whose baseline starts, centres or ends at a point."""
        self._shapes.append(f'<text x="{x:g}" y="{y:g}" class="{style}" text-anchor="{anchor}">{escape(words)}</text>')

    def line(self, points: Iterable[tuple[float, float]], style: str, dash: str = "") -> None:
        """A line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self._shapes.append(f'<polyline points="{path}" class="{style}"{dashed}/>')

    def svg(self) -> str:
        """The whole document; it stands alone and inside HTML."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" role="img" aria-label="{escape(self.title)}">'
            f"<title>{escape(self.title)}</title><style>{style()}</style>"
            f'<rect class="paper" width="{self.width:g}" height="{self.height:g}"/>{"".join(self._shapes)}</svg>\n'
        )


def nice_ticks(most: float, wanted: int = 5) -> list[float]:
    """Round numbers from 0 to at least `most`."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / wanted
    power = 10.0 ** (len(str(int(rough))) - 1) if rough >= 1 else 1.0
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    count = int(-(-most // step))
    return [i * step for i in range(count + 1)]


def chart(title: str, x_name: str, y_name: str, series: Sequence[tuple[str, Sequence[tuple[float, float]]]]) -> Drawing:
    """Lines over common axes, each named at its right end; a series is (name, points)."""
    width, height, left, top, right, bottom = 860.0, 380.0, 80.0, 50.0, 210.0, 50.0
    drawing = Drawing(width, height, title)
    drawing.text(16, 26, title, "title")
    points = [p for _, ps in series for p in ps]
    x_ticks, y_ticks = (nice_ticks(max([p[i] for p in points], default=1)) for i in (0, 1))
    plot_width, plot_height = width - left - right, height - top - bottom

    def place(x: float, y: float) -> tuple[float, float]:
        return left + x / x_ticks[-1] * plot_width, top + plot_height - y / y_ticks[-1] * plot_height

    for tick in y_ticks:
        drawing.line([place(0, tick), place(x_ticks[-1], tick)], "grid")
        drawing.text(left - 8, place(0, tick)[1] + 4, f"{tick:,.0f}", "small", "end")
    for tick in x_ticks:
        drawing.text(place(tick, 0)[0], height - bottom + 18, f"{tick:,.0f}", "small", "middle")
    drawing.line([place(0, y_ticks[-1]), place(0, 0), place(x_ticks[-1], 0)], "axis")
    drawing.text(left + plot_width / 2, height - 10, x_name, "", "middle")
    drawing.text(16, top - 8, y_name, "small")
    label_at = height
    ends = sorted(enumerate(series), key=lambda item: -(item[1][1][-1][1] if item[1][1] else 0))
    for rank, (i, (name, ps)) in enumerate(ends):
        style, dash = SERIES[i % len(SERIES)], DASHES[i % len(DASHES)]
        drawing.line((place(*p) for p in ps), f"line {style}", dash)
        wanted = place(*ps[-1])[1] if ps else top + plot_height
        label_at = wanted if rank == 0 else max(wanted, label_at + 18)
        drawing.line([(width - right + 8, label_at), (width - right + 34, label_at)], f"line {style}", dash)
        drawing.text(width - right + 40, label_at + 4, name, "small")
    return drawing


def strips(title: str, notes: Sequence[str], rows: Sequence[Strip]) -> Drawing:
    """Page maps below each other: a cell a page (or several), touched ones filled and marked."""
    most = max((row.pages for row in rows), default=1)
    a_cell = -(-most // 96)  # pages a cell
    cells = -(-most // a_cell)
    left, cell = 190.0, max(6.0, min(30.0, 640.0 / cells))
    width, top, pitch = max(left + cells * cell + 30, 560.0, 32 + 9.3 * len(title)), 84.0, 58.0
    drawing = Drawing(width, top + len(rows) * pitch + 20 * len(notes) + 16, title)
    drawing.text(16, 26, title, "title")
    scale = "a cell is a page" if a_cell == 1 else f"a cell is {a_cell} pages"
    drawing.text(
        16, 46, f"{scale}; filled: touched; dashed frame: needed only since the index grew; w: warm section", "small"
    )
    for n in range(0, most, max(a_cell, -(-most // 12 // a_cell) * a_cell)):
        drawing.text(left + (n // a_cell + 0.5) * cell, top - 10, f"{n}", "small", "middle")
    for i, row in enumerate(rows):
        _strip(drawing, row, left, top + i * pitch, cell, a_cell)
    for i, note in enumerate(notes):
        drawing.text(16, top + len(rows) * pitch + 14 + i * 20, note)
    return drawing


class Strip:
    """One page map: `touches` is page to number of look-ups, `new` the pages needed only now, `series` its colour."""

    def __init__(
        self, name: str, pages: int, touches: dict[int, int], warm_from: int, series: str, new: Iterable[int] = ()
    ) -> None:
        self.name, self.pages, self.touches, self.warm_from = name, pages, touches, warm_from
        self.series, self.new = series, set(new)


def _strip(drawing: Drawing, row: Strip, left: float, y: float, cell: float, a_cell: int) -> None:
    drawing.text(16, y + 18, row.name)
    drawing.text(16, y + 34, f"{len(row.touches):,} of {row.pages:,} pages", "small")
    busiest = max(row.touches.values(), default=1)
    for n in range(0, row.pages, a_cell):
        pages = range(n, min(n + a_cell, row.pages))
        x = left + n // a_cell * cell
        touched = [page for page in pages if page in row.touches]
        drawing.rect(x, y, cell - 1, 26, "cell")
        if touched:
            share = max(row.touches[page] for page in touched) / busiest
            tip = f"page {touched[0]}" + (f" to {touched[-1]}" if len(touched) > 1 else "")
            tip += f": {sum(row.touches[page] for page in touched)} look-ups"
            depth = 0.35 + 0.65 * share
            drawing.rect(x, y, cell - 1, 26, f"fill-{row.series}", depth, tip)
            if cell >= 18 and len(touched) == 1:
                drawing.text(
                    x + (cell - 1) / 2, y + 18, str(touched[0]), "small on" if depth > 0.7 else "small", "middle"
                )
        if any(page in row.new for page in pages):
            drawing.rect(x - 1, y - 2, cell + 1, 30, "new")
    if row.warm_from < row.pages:
        start = left + row.warm_from // a_cell * cell
        end = left + -(-row.pages // a_cell) * cell - 1
        drawing.line([(start, y + 30), (start, y + 34), (end, y + 34), (end, y + 30)], "axis")
        drawing.text((start + end) / 2, y + 46, "w", "small", "middle")
