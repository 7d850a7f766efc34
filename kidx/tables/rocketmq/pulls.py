"""One pull as a table."""

from __future__ import annotations

from kidx.exit_status import UNREADABLE
from kidx.rocketmq.java import JavaThrows
from kidx.rocketmq.pull import Pull, pull
from kidx.rocketmq.replayed_queues import NOTE
from kidx.rocketmq.store import Store
from kidx.tables.table import BOOL, INT, TEXT, Column, Notes, Table


def pull_table(store: Store, topic: str, queue_id: int, offset: int, most: int, memory_bytes: int) -> Table:
    """kidx.rocketmq_pull.v1: one row. If the store would throw, the answer is null and `why` is the reason."""
    notes = Notes()
    if store.layout.rocksdb:
        notes.add(NOTE)
    _note_compaction(store, topic, notes)
    found, why = None, None
    try:
        found = pull(store, topic, queue_id, offset, most, memory_bytes)
    except JavaThrows as e:
        why = str(e)
        notes.add(f"{topic}/{queue_id} from {offset}: {e}", UNREADABLE)
    kinds = {"status": TEXT, "suggest_slave": BOOL, "stopped_by": TEXT}
    names = list(Pull.__dataclass_fields__)
    columns = [Column("topic", TEXT), Column("queue"), Column("offset")]
    columns += [Column(name, kinds.get(name, INT)) for name in names]
    columns += [Column("commit_log_end"), Column("broker_version", TEXT), Column("why", TEXT)]
    values = [getattr(found, name, None) for name in names]
    row = [topic, queue_id, offset, *values, store.end, str(store.version), why]
    return Table("kidx.rocketmq_pull.v1", columns, [row], notes=notes)


def _note_compaction(store: Store, topic: str, notes: Notes) -> None:
    """A broker answers pulls from a compaction topic's own log. Source: DefaultMessageStore.getMessage of 5.3.1."""
    if topic in store.layout.compaction_topics:
        notes.add(
            f"{topic} is a compaction topic: a broker with enableCompaction serves its messages from compaction/, "
            "which kidx does not read; this answer is the commit log's and may differ"
        )
