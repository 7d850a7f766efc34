"""The checkpoint: the store times up to which a broker has flushed commit log, queues and index."""

from __future__ import annotations

from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import CHECKPOINT
from kidx.rocketmq.layout import StoreFile


class Checkpoint:
    """The content of the checkpoint file; zeros if it is missing or short, as in a broker."""

    physic_timestamp: int
    logics_timestamp: int
    index_timestamp: int
    master_flushed_offset: int
    confirm_offset: int
    logics_offset: int

    def __init__(self, opened: OpenFiles, file: StoreFile | None) -> None:
        data = opened.get(file.path).read(0, CHECKPOINT.size) if file else b""
        (
            self.physic_timestamp,
            self.logics_timestamp,
            self.index_timestamp,
            self.master_flushed_offset,
            self.confirm_offset,
            self.logics_offset,
        ) = CHECKPOINT.struct.unpack(data.ljust(CHECKPOINT.size, b"\0"))

    @property
    def least_timestamp(self) -> int:
        """Up to 5.3: three seconds before the earlier of commit log and queues (getMinTimestamp)."""
        return max(0, min(self.physic_timestamp, self.logics_timestamp) - 3000)
