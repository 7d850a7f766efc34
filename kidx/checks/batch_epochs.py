"""Leader epochs of a window's batches: they never fall, and leader-epoch-checkpoint names the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kidx.checks.batch_headers import of_batch
from kidx.checks.stretch import LogFacts, Stretch
from kidx.findings import Finding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Window

    Bools = npt.NDArray[np.bool_]


def check_epochs(path: str, facts: LogFacts, seen: Stretch, window: Window, good: Bools) -> Iterator[Finding]:
    """Findings about the epochs of a window; `seen` is what came before it, and is brought up to date."""
    import numpy as np

    epochs = window.column("leader_epoch")
    rows = np.nonzero(good & (window.column("magic") == 2) & (epochs >= 0))[0]
    if not len(rows):
        return
    mine = epochs[rows]
    before = np.concatenate(([seen.last_epoch], mine[:-1]))
    for at in np.nonzero(mine < before)[0].tolist():
        yield of_batch(
            path,
            "KX404",
            window,
            int(rows[at]),
            f"its leader epoch is {mine[at]}, but epoch {before[at]} came before it",
            expected=f">= {before[at]}",
            found=int(mine[at]),
        )
    if seen.first_epoch < 0:
        seen.first_epoch = int(mine[0])
    seen.last_epoch = int(mine.max())
    if not facts.epochs:
        return
    known, starts = (np.array(numbers, np.int64) for numbers in facts.epochs)
    lines = np.searchsorted(starts, window.column("base_offset")[rows], "right") - 1
    wrong = (lines >= 0) & (known[np.maximum(lines, 0)] != mine)
    for at in np.nonzero(wrong)[0].tolist():
        yield of_batch(
            path,
            "KX405",
            window,
            int(rows[at]),
            f"its leader epoch is {mine[at]}; leader-epoch-checkpoint says {known[lines[at]]} from offset "
            f"{starts[lines[at]]} on",
            expected=int(known[lines[at]]),
            found=int(mine[at]),
        )
