"""What a log says about transactions, batch by batch: where they begin, and their markers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kidx.checks.batch_headers import of_batch
from kidx.checks.outside_transactions import outside_transaction
from kidx.checks.stretch import TransactionEvent
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.control import parse_control
from kidx.formats.records import Damage
from kidx.segments.records import read_records

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Window

    Bools = npt.NDArray[np.bool_]


class TransactionEvents:
    """Gathers the events of one stretch, window by window; `deep` where records are checked anyway."""

    def __init__(self, log: Evidence, *, deep: bool = False) -> None:
        self._log, self._deep = log, deep
        self._open: dict[int, int] = {}  # first offsets of the transactions open that began in the stretch, by producer
        self._outside: list[tuple[int, int]] = []  # rows of batches outside an open transaction, and where that began
        self._unknown: list[tuple[int, int | None]] = []  # rows of control batches of no type that there is
        self._unreadable: list[tuple[int, str]] = []  # rows of control batches whose value Kafka cannot read, and type
        self._damaged: list[tuple[int, Damage]] = []  # rows of control batches that recovery cannot read

    def of(self, window: Window, good: Bools) -> Iterator[TransactionEvent]:
        """The events of a window's sound batches."""
        import numpy as np

        told = good & (window.transactional | window.control)
        if not told.any() and not self.meets_open(window):
            return
        wanted = set(np.nonzero(told | good & (window.column("producer_id") >= 0))[0].tolist())
        for row, batch in enumerate(window.batches()):
            if row not in wanted:
                continue
            marker = epoch = None
            if window.control[row]:
                records, damage = read_records(self._log, batch)
                if damage is not None and not damage.limit and not self._deep:
                    self._damaged.append((row, damage))
                if not records:  # the cleaner took the marker's record and left its header
                    continue
                parsed = parse_control(records[0].key, records[0].value)
                marker = None if parsed is None else parsed.type_id
                if parsed is None or parsed.name == "UNKNOWN":
                    self._unknown.append((row, marker))
                    continue
                if parsed.fields is None or parsed.fields.get("version", 0) < 0:
                    self._unreadable.append((row, parsed.name))
                if batch.producer_id < 0:  # KRaft's own
                    continue
                self._open.pop(batch.producer_id, None)
                epoch = None if parsed.fields is None else parsed.fields.get("coordinatorEpoch")
            elif not window.transactional[row]:
                if (first := self._open.get(batch.producer_id)) is not None:
                    self._outside.append((row, first))
                continue
            elif batch.producer_id in self._open:
                continue
            else:
                self._open[batch.producer_id] = batch.base_offset
            yield TransactionEvent(batch.position, batch.producer_id, batch.base_offset, marker, epoch)

    def meets_open(self, window: Window) -> bool:
        """Whether a window has batches of a producer whose transaction, begun in the stretch, is open."""
        return bool(self._open) and not self._open.keys().isdisjoint(window.column("producer_id").tolist())

    def outside(self, window: Window) -> Iterator[Finding]:
        """Findings about the window's batches that stand outside their producer's open transaction."""
        for row, first in self._outside:
            yield outside_transaction(self._log.path, window.batch(row), first)
        self._outside.clear()

    def unknown(self, window: Window) -> Iterator[Finding]:
        """Findings about the window's control batches whose record is no control record, or cannot be read."""
        for row, marker in self._unknown:
            said = "has no type in its key" if marker is None else f"is of type {marker}, which there is not"
            yield of_batch(self._log.path, "KX308", window, row, f"its control record {said}", found=marker)
        for row, name in self._unreadable:
            said = f"its control record is {name}, and its value cannot be read"
            yield of_batch(self._log.path, "KX308", window, row, said, found=name)
        for row, damage in self._damaged:
            yield of_batch(self._log.path, "KX308", window, row, damage.why, found=damage.kind)
        self._unknown.clear()
        self._unreadable.clear()
        self._damaged.clear()
