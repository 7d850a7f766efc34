"""One complete ConsumeQueue as a broker would load it."""

from __future__ import annotations

from typing import NamedTuple

from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.layout import StoreFile


class Queue(NamedTuple):
    """A queue's files and the length they should have; `log_start` is where the commit log begins."""

    opened: OpenFiles
    topic: str
    queue_id: int
    files: list[StoreFile]
    file_bytes: int | None
    log_start: int
