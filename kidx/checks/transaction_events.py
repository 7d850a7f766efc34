"""What a log says about transactions, batch by batch: where they begin, and their markers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kidx.checks.stretch import TransactionEvent
from kidx.evidence import Evidence
from kidx.formats.control import control_type
from kidx.segments.records import read_records

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Window

    Bools = npt.NDArray[np.bool_]


class TransactionEvents:
    """Gathers the events of one stretch, window by window."""

    def __init__(self, log: Evidence) -> None:
        self._log = log
        self._open: set[int] = set()  # producers that have a transaction open since the stretch began

    def of(self, window: Window, good: Bools) -> Iterator[TransactionEvent]:
        """The events of a window's sound batches."""
        import numpy as np

        rows = np.nonzero(good & (window.transactional | window.control))[0].tolist()
        if not rows:
            return
        wanted = set(rows)
        for row, batch in enumerate(window.batches()):
            if row not in wanted or batch.producer_id < 0:
                continue
            marker = None
            if window.control[row]:
                records = read_records(self._log, batch).records
                if not records:  # the cleaner took the marker's record and left its header
                    continue
                marker = control_type(records[0].key)
                self._open.discard(batch.producer_id)
            elif batch.producer_id in self._open:
                continue
            else:
                self._open.add(batch.producer_id)
            yield TransactionEvent(batch.position, batch.producer_id, batch.base_offset, marker)
