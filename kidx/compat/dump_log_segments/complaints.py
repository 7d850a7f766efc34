"""DumpLogSegments' complaints after all files, in its order.

The tool keeps hash maps by absolute path, one for each kind of complaint. A file that is given twice is listed once,
but the pairs of its time index as often as it was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kidx.compat.dump_log_segments.comparisons import Pair, TimeComplaints
from kidx.compat.dump_log_segments.java import hash_map_order

_TIMES = (
    ("Found timestamp mismatch in :", "  Index timestamp: {}, log timestamp: {}"),
    ("Found out of order timestamp in :", "  Index timestamp: {}, Previously indexed timestamp: {}"),
    ("The following indexed offsets are not found in :", "Indexed offset: {}, found log offset: {}"),
)


class Complaints:
    """Complaints of a run, by absolute path."""

    def __init__(self) -> None:
        self._mismatches: dict[str, dict[int, int]] = {}
        self._times: tuple[dict[str, list[Pair]], ...] = ({}, {}, {})
        self._gaps: dict[str, dict[int, int]] = {}

    def mismatches(self, path: str, found: Mapping[int, int]) -> None:
        """Note offsets of an offset index and the log's last offsets at their positions."""
        if found:
            self._mismatches.setdefault(path, {}).update(found)

    def times(self, path: str, found: TimeComplaints) -> None:
        """Note what a time index and its log disagree on."""
        for kind, pairs in zip(self._times, found, strict=True):
            if pairs:
                kind.setdefault(path, []).extend(pairs)

    def gaps(self, path: str, found: Mapping[int, int]) -> None:
        """Note offsets of a log and those that follow them."""
        if found:
            self._gaps.setdefault(path, {}).update(found)

    def texts(self) -> Iterator[str]:
        """A heading and its lines, file after file."""
        for path in hash_map_order(self._mismatches):
            falling = sorted(self._mismatches[path].items(), reverse=True)
            yield _text(f"Mismatches in :{path}", "  Index offset: {}, log offset: {}", falling)
        for kind, (heading, line) in zip(self._times, _TIMES, strict=True):
            for path in hash_map_order(kind):
                yield _text(heading + path, line, kind[path])
        for path in hash_map_order(self._gaps):
            rising = sorted(self._gaps[path].items())
            yield _text(f"Non-consecutive offsets in {path}", "  {} is followed by {}", rising)


def _text(heading: str, line: str, pairs: list[Pair] | list[tuple[int, int]]) -> str:
    return "\n".join([heading, *(line.format(*pair) for pair in pairs)])
