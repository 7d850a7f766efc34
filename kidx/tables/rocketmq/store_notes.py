"""Notes on answers that a broker with this store may not give."""

from __future__ import annotations

from kidx.rocketmq.replayed_queues import NOTE
from kidx.rocketmq.store import Store
from kidx.tables.table import Notes


def note_rocksdb(store: Store, notes: Notes) -> None:
    """The queues are in RocksDB, so the answer is the commit log's."""
    if store.layout.rocksdb:
        notes.add(NOTE)


def note_compaction(store: Store, topic: str, notes: Notes) -> None:
    """A broker answers pulls from a compaction topic's own log. Source: DefaultMessageStore.getMessage of 5.3.1."""
    if topic in store.layout.compaction_topics:
        notes.add(
            f"{topic} is a compaction topic: a broker with enableCompaction serves its messages from compaction/, "
            "which kidx does not read; this answer is the commit log's and may differ"
        )
