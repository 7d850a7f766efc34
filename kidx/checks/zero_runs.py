"""Runs of all-zero entries in an index that has others behind them, put together chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kidx.checks.making import FindingLimiter, SuppressedFindings, finding
from kidx.findings import Finding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class ZeroRuns:
    """Finds runs in chunks that follow, touch or overlap each other. `why` ends each finding's sentence."""

    def __init__(self, file: str, width: int, limiter: FindingLimiter, why: str) -> None:
        self.file, self.width, self.why = file, width, why
        self._limiter = limiter
        self._last: tuple[int, int] | None = None  # a run that may go on in the next chunk: first slot, slot after it

    def add(self, zero: npt.NDArray[np.bool_], first: int) -> Iterator[Finding | SuppressedFindings]:
        """The runs that ended before those of a chunk, whose entries from slot `first` on are all zero where `zero`."""
        import numpy as np

        edges = np.diff(np.concatenate(([False], zero, [False])).astype(np.int8))
        begins, stops = np.nonzero(edges == 1)[0] + first, np.nonzero(edges == -1)[0] + first
        if self._last is not None:
            begin, stop = self._last
            seen = int(np.searchsorted(begins, stop, "right"))  # these go on with the last run, or were seen before it
            if seen:
                self._last = begin, max(stop, int(stops[seen - 1]))
            begins, stops = begins[seen:], stops[seen:]
        if len(begins):
            yield from self.end()
            runs = list(zip(begins.tolist(), stops.tolist(), strict=True))
            yield from self._limiter.of("KX102", runs[:-1], self._finding)
            self._last = runs[-1]

    def end(self) -> Iterator[Finding | SuppressedFindings]:
        """The last run."""
        if self._last is not None:
            yield from self._limiter.of("KX102", [self._last], self._finding)

    def _finding(self, run: tuple[int, int]) -> Finding:
        begin, stop = run
        count = stop - begin
        return finding(
            "KX102",
            self.file,
            f"{count:,} {'entry' if count == 1 else 'entries'} of nothing but zeros{self.why}",
            span=(begin * self.width, stop * self.width),
            slot=begin,
            found=count,
        )
