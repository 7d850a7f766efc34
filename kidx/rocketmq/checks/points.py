"""Checkpoint and abort: how the broker stopped, and whether what it noted can be."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.findings import Finding
from kidx.rocketmq.checkpoint import Checkpoint
from kidx.rocketmq.checks.making import finding
from kidx.rocketmq.formats import CHECKPOINT, CHECKPOINT_FILE_BYTES
from kidx.rocketmq.layout import Layout


def check_points(layout: Layout, checkpoint: Checkpoint, last_timestamp: int, log_end: int) -> Iterator[Finding]:
    """Findings about the files abort and checkpoint; `last_timestamp` is the commit log's latest store time."""
    if layout.abort:
        who = "process id in it: 5.x" if layout.abort.size else "empty: 4.x, or the process id was not written"
        yield finding("KXR401", layout.abort.path, f"abort exists ({who}): the broker was killed or still runs")
    if layout.checkpoint is None:
        return
    path = layout.checkpoint.path
    if layout.checkpoint.size != CHECKPOINT_FILE_BYTES:
        said = f"it has {layout.checkpoint.size} bytes"
        yield finding("KXR402", path, said, expected=CHECKPOINT_FILE_BYTES, found=layout.checkpoint.size)
    for name in ("physic_timestamp", "logics_timestamp", "index_timestamp"):
        time = getattr(checkpoint, name)
        if time < 0 or (last_timestamp and time > last_timestamp):
            said = f"{name} is {time}, and the last message was stored at {last_timestamp}"
            span = CHECKPOINT.field_span(name)
            yield finding("KXR402", path, said, span=span, expected=f"<= {last_timestamp}", found=time)
    for name in ("confirm_offset", "logics_offset", "master_flushed_offset"):
        offset = getattr(checkpoint, name)
        if offset > log_end:
            said = f"{name} is {offset}, and the commit log ends at {log_end}"
            span = CHECKPOINT.field_span(name)
            yield finding("KXR402", path, said, span=span, expected=f"<= {log_end}", found=offset)
