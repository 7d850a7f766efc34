"""Aborted transactions that overlap a fetch.

Source: org.apache.kafka.storage.internals.log.TransactionIndex.collectAbortedTxns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kidx.evidence import Evidence
from kidx.formats.indexes import TRANSACTION_INDEX, extent_of

_CHUNK_ENTRIES = 4096


class AbortedTransaction(NamedTuple):
    """One entry of a transaction index; all offsets absolute."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedTransactions(NamedTuple):
    """`complete` is False where the next segment's transaction index may hold more."""

    complete: bool
    aborted: list[AbortedTransaction]


def read_transactions(evidence: Evidence) -> Iterator[AbortedTransaction]:
    """The valid entries of a transaction index, in order."""
    size = TRANSACTION_INDEX.size
    entries = extent_of(TRANSACTION_INDEX, evidence).entries
    for start in range(0, entries * size, _CHUNK_ENTRIES * size):
        chunk = evidence.read(start, min(_CHUNK_ENTRIES * size, entries * size - start))
        for fields in TRANSACTION_INDEX.struct.iter_unpack(chunk):
            yield AbortedTransaction(*fields)


def collect_aborted(transactions: Iterable[AbortedTransaction], fetch_from: int, fetch_to: int) -> AbortedTransactions:
    """The transactions that a fetch of `fetch_from` up to, not including, `fetch_to` overlaps.

    The search is complete at the first entry whose last stable offset is at or past `fetch_to`: later ones cannot
    have begun before it.
    """
    found = []
    for transaction in transactions:
        if transaction.last_offset >= fetch_from and transaction.first_offset < fetch_to:
            found.append(transaction)
        if transaction.last_stable_offset >= fetch_to:
            return AbortedTransactions(True, found)
    return AbortedTransactions(False, found)
