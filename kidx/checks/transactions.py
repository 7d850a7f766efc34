"""Transactions replayed from the log's markers, held against transaction indexes and producer snapshots.

As ProducerStateManager does: a producer's first transactional batch since its last marker opens a transaction, a marker
ends it, and an ABORT marker that ends one is worth an entry in the transaction index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kidx.checks.making import finding, of_entry
from kidx.checks.stretch import TransactionEvent
from kidx.findings import Finding
from kidx.formats.control import ABORT, COMMIT
from kidx.formats.indexes import TRANSACTION_INDEX


class Aborted(NamedTuple):
    """An aborted transaction; `first_offset` and `last_stable_offset` are None where the log does not tell.

    `written`: the log has batches of it, so that its index lists it.
    """

    producer_id: int
    first_offset: int | None
    last_offset: int
    last_stable_offset: int | None
    written: bool


class Replay:
    """The open transactions while a partition's segments go by in order.

    `complete` is whether all of them are known. Where that is not so (the log does not begin at offset 0, or a piece of
    it cannot be believed), what a producer's batches belong to is known from its next marker on.
    """

    def __init__(self) -> None:
        self.complete = False
        self.open: dict[int, int] = {}
        self._met: set[int] = set()  # producers whose marker has gone by
        self._begun_before: dict[int, int] = {}  # first offset seen of transactions that may have begun earlier

    def learn(self, open_transactions: dict[int, int]) -> None:
        """Begin where these are open: first offsets by producer id."""
        self.complete, self.open = True, dict(open_transactions)
        self._met, self._begun_before = set(), {}

    def forget(self) -> None:
        """Begin where nobody knows what is open."""
        self.learn({})
        self.complete = False

    def segment(self, events: Sequence[TransactionEvent]) -> list[Aborted]:
        """Let a segment's events go by; its ABORT markers, of which its index lists those with batches."""
        aborted = []
        for event in events:
            if event.marker is None:
                known = self.complete or event.producer_id in self._met
                (self.open if known else self._begun_before).setdefault(event.producer_id, event.offset)
            elif event.marker in (ABORT, COMMIT):
                first = self.open.pop(event.producer_id, None)
                written = self._begun_before.pop(event.producer_id, first) is not None
                self._met.add(event.producer_id)
                if event.marker == ABORT:
                    stable = min(self.open.values(), default=event.offset + 1) if self.complete else None
                    aborted.append(Aborted(event.producer_id, first, event.offset, stable, written))
        return aborted

    def still_open(self) -> list[tuple[int, int]]:
        """First offsets seen, and producer ids, of the transactions that no marker has ended."""
        return sorted((first, producer) for producer, first in {**self._begun_before, **self.open}.items())


def compare_index(
    index_path: str | None,
    log_path: str,
    entries: Sequence[tuple[int, tuple[int, ...]]],
    aborted: Sequence[Aborted],
    *,
    compacted: bool,
) -> Iterator[Finding]:
    """Findings where a transaction index and its log's ABORT markers differ.

    `entries` are the slots and fields of the index. A compacted log has lost batches, so its markers need no entry, and
    where a transaction began cannot be told; an entry needs its marker all the same.
    """
    by_marker = {a.last_offset: a for a in aborted}
    listed = set()
    for slot, (_, producer, first, last, stable) in entries:
        listed.add(last)
        there = by_marker.get(last)
        wrong = None
        if there is None or there.producer_id != producer:
            wrong = f"lists an abort of producer {producer} at offset {last}; the log has no such marker there"
        elif not compacted and there.first_offset not in (None, first):
            wrong = f"says the transaction began at offset {first}; in the log it begins at {there.first_offset}"
        elif not compacted and there.last_stable_offset not in (None, stable):
            wrong = (
                f"says the last stable offset was {stable} at the marker; by the log it was {there.last_stable_offset}"
            )
        if wrong:
            yield of_entry(
                "KX402",
                index_path or log_path,
                TRANSACTION_INDEX.size,
                slot,
                f" {wrong}",
                expected=there._asdict() if there else None,
                found={
                    "producer_id": producer,
                    "first_offset": first,
                    "last_offset": last,
                    "last_stable_offset": stable,
                },
            )
    if compacted:
        return
    for there in aborted:
        if there.last_offset not in listed and there.written:
            yield finding(
                "KX401",
                index_path or log_path,
                f"the log has an ABORT marker of producer {there.producer_id} at offset {there.last_offset}, and "
                + ("the transaction index does not list it" if index_path else "there is no transaction index"),
                expected=there._asdict(),
            )


def open_transactions(log_path: str, replay: Replay) -> Iterator[Finding]:
    """Notes about transactions that no marker ends."""
    for first, producer in replay.still_open():
        yield finding(
            "KX403",
            log_path,
            f"producer {producer} has a transaction open since offset {first}; read_committed consumers wait there",
            found={"producer_id": producer, "first_offset": first},
        )
