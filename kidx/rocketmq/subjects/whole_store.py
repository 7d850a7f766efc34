"""A store after everything in it was read."""

from __future__ import annotations

from typing import NamedTuple

from kidx.rocketmq.checkpoint import Checkpoint
from kidx.rocketmq.layout import Layout


class WholeStore(NamedTuple):
    """`last_timestamp` is the commit log's latest store time, epoch ms, 0 without messages; `log_end` where it ends.

    `log_empty`: the commit log has no file, or only zeros. `point_into_log` counts units and index entries that
    lead to messages it should have.
    """

    layout: Layout
    checkpoint: Checkpoint
    last_timestamp: int
    log_end: int
    log_empty: bool
    point_into_log: int
