"""A loaded store's figures as a table."""

from __future__ import annotations

from kidx.rocketmq.figures import Figures, figures
from kidx.rocketmq.store import Store
from kidx.tables.table import INT, TEXT, TIMESTAMP, Column, Table


def store_table(store: Store) -> Table:
    """kidx.rocketmq_stat.v1: a row each for the commit log, every queue, ext files, index files, the checkpoint."""
    kinds = {"what": TEXT, "name": TEXT, "note": TEXT, "first_timestamp": TIMESTAMP, "last_timestamp": TIMESTAMP}
    columns = [Column(name, kinds.get(name, INT)) for name in Figures._fields]
    summary = {"broker_version": str(store.version), "unclean": store.unclean}
    return Table("kidx.rocketmq_stat.v1", columns, figures(store), summary)
