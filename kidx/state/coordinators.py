"""The state that coordinators keep in their topics: one fact per key, its last value; tombstones remove it.

Sources: org.apache.kafka.coordinator.group.OffsetMetadataManager and GroupMetadataManager (replay),
TransactionStateManager, ShareCoordinatorShard. Offsets committed inside a transaction wait for its marker: COMMIT
applies those that are newer than the present ones, ABORT discards them.
"""

from __future__ import annotations

import re
from typing import Any

from kidx.formats.batches import Batch
from kidx.formats.control import ABORT, COMMIT
from kidx.formats.records import Record
from kidx.formats.schemas.model import messages
from kidx.formats.schemas.topics import TRANSACTION, decoder_of
from kidx.state.facts import Fact, Facts

_KINDS = {
    "OffsetCommit": "committed_offset",
    "LegacyOffsetCommit": "committed_offset",
    "GroupMetadata": "classic_group",
    "TransactionLog": "transaction",
    "ShareSnapshot": "share_partition",
}
TRANSACTION_STATES = (  # org.apache.kafka.coordinator.transaction.TransactionState
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
)  # fmt: skip


class CoordinatorState:
    """Replays a coordinator's topic. `undecoded` counts the records that could not be understood."""

    def __init__(self, family: str) -> None:
        self.family, self.facts, self.undecoded = family, Facts(), 0
        self._decode = decoder_of(family)
        self._pending: dict[int, list[Fact]] = {}  # by producer: what waits for its transaction's marker

    def replay(self, batch: Batch, record: Record) -> None:
        """Apply a data record."""
        decoded = self._decode(record.key, record.value)
        if decoded.problem or decoded.key.name is None or decoded.key.data is None:
            self.undecoded += 1
            return
        kind, value = kind_of(decoded.key.name), None if decoded.value is None else decoded.value.data
        if value is not None and self.family == TRANSACTION:
            value = {"state": _state_name(value["transactionStatus"]), **value}
        if value is None:
            self._forget(kind, decoded.key.data, record)
            return
        change = Fact(kind, decoded.key.data, value, record.offset, record.timestamp)
        if decoded.key.name == "ShareUpdate":
            self._update_share(change)
        elif batch.transactional:
            self._pending.setdefault(batch.producer_id, []).append(change)
        else:
            self.facts.set(*change)

    def end_transaction(self, producer_id: int, marker: int) -> None:
        """Apply a transaction's marker."""
        waiting = self._pending.pop(producer_id, []) if marker in (ABORT, COMMIT) else []
        if marker == COMMIT:
            for change in waiting:
                there = self.facts.get(change.kind, change.key)
                if there is None or (there.offset or 0) < (change.offset or 0):
                    self.facts.set(*change)

    def _forget(self, kind: str, key: dict[str, Any], record: Record) -> None:
        """A tombstone takes effect at once, even in a transaction, and discards changes that wait for a marker."""
        self.facts.drop(kind, key, record.offset, record.timestamp)
        for producer, waiting in self._pending.items():
            self._pending[producer] = [fact for fact in waiting if (fact.kind, fact.key) != (kind, key)]

    def _update_share(self, change: Fact) -> None:
        """A share partition's update: its batches replace those of the same range, its numbers the earlier ones."""
        there = self.facts.get("share_partition", change.key)
        before = there.value if there else {}
        batches = {(b["firstOffset"], b["lastOffset"]): b for b in before.get("stateBatches", [])}
        batches |= {(b["firstOffset"], b["lastOffset"]): b for b in change.value["stateBatches"]}
        start = change.value["startOffset"] if change.value["startOffset"] >= 0 else before.get("startOffset", -1)
        kept = [batches[span] for span in sorted(batches) if span[1] >= start]
        merged = {**before, **change.value, "startOffset": start, "stateBatches": kept}
        self.facts.set("share_partition", change.key, merged, change.offset, change.timestamp)


def kinds_of(family: str) -> list[str]:
    """Every kind of fact that a family's records can state."""
    names = [m.name.removesuffix("Key") for m in messages().values() if (m.family, m.role) == (family, "key")]
    return sorted({kind_of(name) for name in names} - {"share_update"})


def kind_of(name: str) -> str:
    """The kind of fact of a record kind: consumer_group_metadata for ConsumerGroupMetadata; some names are shorter."""
    return _KINDS.get(name) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _state_name(number: int) -> str:
    return TRANSACTION_STATES[number] if 0 <= number < len(TRANSACTION_STATES) else f"unknown-{number}"
