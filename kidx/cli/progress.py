"""Progress on a terminal: nothing is drawn, and rich is not even imported, where nobody looks or it is over at once."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_PATIENCE_S = 0.7


class Progress:
    """A bar on standard error, from the first report later than _PATIENCE_S on. Call it with (done, total)."""

    def __init__(self, what: str) -> None:
        self._what, self._started = what, time.monotonic()
        self._shown = sys.stderr.isatty()
        self._bar: object = None

    def __enter__(self) -> Progress:
        return self

    def __call__(self, done: int, total: int) -> None:
        """Say how far it is."""
        if not self._shown or time.monotonic() - self._started < _PATIENCE_S:
            return
        from rich.console import Console
        from rich.progress import Progress as Bar

        if not isinstance(self._bar, Bar):
            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._what, total=total)
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()  # type: ignore[attr-defined]
