"""Tables about complete stores: a store's figures, and a slave's store compared with its master's."""

from __future__ import annotations

from kidx.exit_status import CLEAN, FINDINGS, UNREADABLE
from kidx.rocketmq.figures import Figures, figures
from kidx.rocketmq.replicas import Difference, compare, queue_differences
from kidx.rocketmq.store import Store
from kidx.tables.table import BOOL, INT, TEXT, TIMESTAMP, TREE, Column, Notes, Table


def store_table(store: Store) -> Table:
    """kidx.rocketmq_stat.v1: one row each for the commit log, every queue, ext files, index files, the checkpoint.

    The table's status is UNREADABLE if the commit log is missing though queues or index files lead into it.
    """
    kinds = {"what": TEXT, "name": TEXT, "note": TEXT, "first_timestamp": TIMESTAMP, "last_timestamp": TIMESTAMP}
    columns = [Column(name, kinds.get(name, INT)) for name in Figures._fields]
    summary = {"broker_version": str(store.version), "unclean": store.unclean}
    notes, layout = Notes(), store.layout
    if not layout.commit_log and (layout.queues or layout.batch_queues or layout.index):
        missing = "the commit log is missing, and queues or index files lead into it; see kidx rocketmq verify"
        notes.add(f"{layout.root}: {missing}", UNREADABLE)
    return Table("kidx.rocketmq_stat.v1", columns, figures(store), summary, notes=notes)


def difference_table(master: Store, slave: Store, memory_bytes: int | None) -> Table:
    """kidx.difference.v1: one row per difference; the summary states how far the slave lags.

    `memory_bytes` is how much of the commit log the master counts as in memory, None if unknown. The table's status is
    FINDINGS if healthy replicas would not differ like this.
    """
    found: list[Difference] = []
    comparison = compare(master, slave, found)
    notes = Notes()
    if not (master.layout.rocksdb or slave.layout.rocksdb):
        found += queue_differences(master, slave)
    notes.status = CLEAN if all(difference.allowed for difference in found) else FINDINGS
    summary = {
        "schema": "kidx.summary.v1",
        **comparison._asdict(),
        "lag_bytes": comparison.master_end - comparison.slave_end,
        "memory_bytes": memory_bytes,
        "slave_suggested_below": None if memory_bytes is None else max(0, comparison.master_end - memory_bytes),
        "exit_status": notes.status,
    }
    kinds = {"what": TEXT, "where": TEXT, "left": TREE, "right": TREE, "allowed": BOOL}
    columns = [Column(name, kind) for name, kind in kinds.items()]
    return Table("kidx.difference.v1", columns, found, summary, notes=notes)
