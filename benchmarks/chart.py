"""A bar chart as SVG, for pages that show pictures only."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH, _ROW, _LABELS, _MARGIN = 880, 26, 400, 16
_BAR, _TEXT, _MUTED = "#2f6f9f", "#1f2328", "#59636e"


def bars(title: str, rows: Sequence[tuple[str, float]]) -> str:
    """Horizontal bars from 0, each with its label and its number."""
    height = 2 * _MARGIN + _ROW * (len(rows) + 1)
    scale = (_WIDTH - _LABELS - 2 * _MARGIN - 40) / max(value for _, value in rows)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'role="img" font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LABELS}" y="{_MARGIN + 10}" fill="{_MUTED}">{escape(title)}</text>',
    ]
    for number, (label, value) in enumerate(rows, 1):
        y = _MARGIN + number * _ROW
        width = max(1.0, value * scale)
        out += [
            f'<text x="{_LABELS - 8}" y="{y + 13}" text-anchor="end" fill="{_TEXT}">{escape(label)}</text>',
            f'<rect x="{_LABELS}" y="{y}" width="{width:.1f}" height="{_ROW - 9}" rx="2" fill="{_BAR}"/>',
            f'<text x="{_LABELS + width + 6:.1f}" y="{y + 13}" fill="{_TEXT}">{value:.0f}</text>',
        ]
    return "\n".join([*out, "</svg>\n"])
