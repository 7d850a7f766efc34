"""Checkpoint and abort: how the broker stopped, and whether what it recorded is possible."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.findings import WARNING, Finding, Rule
from kidx.rocketmq.formats import CHECKPOINT as CHECKPOINT_FORMAT
from kidx.rocketmq.formats import CHECKPOINT_FILE_BYTES
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.subjects.whole_store import WholeStore

UNCLEAN_STOP = Rule(
    "KXR401",
    "unclean-stop",
    WARNING,
    "The broker did not shut down cleanly",
    "The next start recovers: it walks the commit log, cuts off what is incomplete, and writes units and index "
    "entries again.",
    "abort is created at start and deleted by a clean shutdown: the broker was killed, or this is a copy of a running "
    "one (abort holds its process id since 5.x). kidx answers look-ups as after that recovery.",
)
CHECKPOINT = Rule(
    "KXR402",
    "checkpoint",
    WARNING,
    "The checkpoint is impossible",
    "After an unclean stop recovery starts at the first file whose first message is older than the checkpoint: one "
    "too late skips what was not flushed.",
    "Its times are store times of messages that were flushed, so none is later than the last message; it is one "
    "page of 4,096 bytes.",
)


@asked_of(WholeStore)
def unclean_stop(store: WholeStore) -> Iterator[Finding]:
    """A file named abort."""
    abort = store.layout.abort
    if abort:
        who = "process id in it: 5.x" if abort.size else "empty: 4.x, or the process id was not written"
        yield UNCLEAN_STOP.finding(abort.path, f"abort exists ({who}): the broker was killed or still runs")


@asked_of(WholeStore)
def checkpoint(store: WholeStore) -> Iterator[Finding]:
    """A checkpoint of another length, or with times and offsets past the commit log's last message."""
    file, last, log_end = store.layout.checkpoint, store.last_timestamp, store.log_end
    if file is None:
        return
    if file.size != CHECKPOINT_FILE_BYTES:
        text = f"it has {file.size} bytes"
        yield CHECKPOINT.finding(file.path, text, expected=CHECKPOINT_FILE_BYTES, found=file.size)
    for name in ("physic_timestamp", "logics_timestamp", "index_timestamp"):
        time = getattr(store.checkpoint, name)
        if time < 0 or (last and time > last):
            text = f"{name} is {time}, and the last message was stored at {last}"
            span = CHECKPOINT_FORMAT.field_span(name)
            yield CHECKPOINT.finding(file.path, text, span=span, expected=f"<= {last}", found=time)
    for name in ("confirm_offset", "logics_offset", "master_flushed_offset"):
        offset = getattr(store.checkpoint, name)
        if offset > log_end:
            text = f"{name} is {offset}, and the commit log ends at {log_end}"
            span = CHECKPOINT_FORMAT.field_span(name)
            yield CHECKPOINT.finding(file.path, text, span=span, expected=f"<= {log_end}", found=offset)
