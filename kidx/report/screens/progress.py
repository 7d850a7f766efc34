"""Progress on stderr, where that is a terminal. rich is imported only when something is drawn."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_PATIENCE_S = 0.7


class ProgressBar:
    """A bar that appears at the first report later than _PATIENCE_S. Call it with (done, total)."""

    def __init__(self, what: str) -> None:
        self._what, self._started = what, time.monotonic()
        self._shown = sys.stderr.isatty()
        self._bar: object = None

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, done: int, total: int) -> None:
        """Draw how much of the total is done."""
        if not self._shown or time.monotonic() - self._started < _PATIENCE_S:
            return
        from rich.console import Console
        from rich.progress import Progress

        if not isinstance(self._bar, Progress):
            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._what, total=total)
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()  # type: ignore[attr-defined]


class ProgressLine:
    """One line, rewritten for each report and erased at the end. Call it with a phase, and how much of it is done."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._started = time.monotonic()
        self._width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __call__(self, phase: str, done: int = 0, total: int = 0) -> None:
        """Draw the phase, and the share that is done where there is a total."""
        if not self._shown:
            return
        share = f" {100 * done // total}%" if total else ""
        self._draw(f"{phase}{share}  {time.monotonic() - self._started:.0f} s")

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        if self._width:
            self._draw("")
            sys.stderr.write("\r")

    def _draw(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)
