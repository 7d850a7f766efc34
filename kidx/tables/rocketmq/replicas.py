"""A slave's store compared with its master's, as a table."""

from __future__ import annotations

from kidx.exit_status import CLEAN, FINDINGS
from kidx.rocketmq.replicas import Difference, compare, queue_differences
from kidx.rocketmq.store import Store
from kidx.tables.table import BOOL, TEXT, TREE, Column, Notes, Table


def difference_table(master: Store, slave: Store, memory_bytes: int | None) -> Table:
    """kidx.difference.v1: a row a difference; the summary says how far the slave lags.

    `memory_bytes` is how much of the commit log the master counts as in memory, None where that is not asked. The
    table's status is FINDINGS where healthy replicas would not differ so.
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
