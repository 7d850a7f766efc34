"""Settings of a store's files: from the broker's properties, or inferred from the files."""

from __future__ import annotations

from collections.abc import Iterable

from kidx.errors import UsageError
from kidx.evidence import read_file
from kidx.rocketmq.formats import UNIT
from kidx.rocketmq.messages import parse_delay_levels

PROPERTIES_LIMIT_BYTES = 1 << 20


class StoreConfig:
    """The properties that kidx uses, MessageStoreConfig's names next to them. None: not given, so inferred.

    Sizes are bytes of a file; slots and entries those of an IndexFile; the last ones limit a pull.
    """

    commit_log_bytes: int | None = None  # mappedFileSizeCommitLog
    queue_bytes: int | None = None  # mappedFileSizeConsumeQueue
    batch_queue_bytes: int | None = None  # mapperFileSizeBatchConsumeQueue
    ext_bytes: int | None = None  # mappedFileSizeConsumeQueueExt
    index_slots: int | None = None  # maxHashSlotNum
    index_entries: int | None = None  # maxIndexNum
    memory_bytes_in_memory: int = 262144  # maxTransferBytesOnMessageInMemory
    memory_count_in_memory: int = 32  # maxTransferCountOnMessageInMemory
    disk_bytes: int = 65536  # maxTransferBytesOnMessageInDisk
    disk_count: int = 8  # maxTransferCountOnMessageInDisk
    in_memory_ratio: int = 40  # accessMessageInMemoryMaxRatio, percent
    crash_safe_index: bool = False  # messageIndexSafe
    delay_levels_ms: tuple[int, ...] | None = None  # messageDelayLevel
    commit_log_dirs: tuple[str, ...] = ()  # storePathCommitLog
    dledger: bool = False  # enableDLegerCommitLog

    def bytes_in_memory(self, physical_memory: int) -> int:
        """How much of the commit log the broker counts as in memory, on a machine with so many, as Java rounds."""
        return int(physical_memory * (self.in_memory_ratio / 100.0))


_KEYS = {
    "mappedFileSizeCommitLog": "commit_log_bytes",
    "mappedFileSizeConsumeQueue": "queue_bytes",
    "mapperFileSizeBatchConsumeQueue": "batch_queue_bytes",
    "mappedFileSizeConsumeQueueExt": "ext_bytes",
    "maxHashSlotNum": "index_slots",
    "maxIndexNum": "index_entries",
    "maxTransferBytesOnMessageInMemory": "memory_bytes_in_memory",
    "maxTransferCountOnMessageInMemory": "memory_count_in_memory",
    "maxTransferBytesOnMessageInDisk": "disk_bytes",
    "maxTransferCountOnMessageInDisk": "disk_count",
    "accessMessageInMemoryMaxRatio": "in_memory_ratio",
}


def read_config(path: str | None) -> StoreConfig:
    """A broker's properties file. Raises UsageError for a value that a broker would not accept."""
    config = StoreConfig()
    if path is None:
        return config
    for name, value in parse_properties_file(
        read_file(path, PROPERTIES_LIMIT_BYTES).decode("utf-8", "replace")
    ).items():
        if name == "messageIndexSafe":
            config.crash_safe_index = value == "true"
        elif name == "enableDLegerCommitLog":
            config.dledger = value == "true"
        elif name == "storePathCommitLog":
            config.commit_log_dirs = tuple(part.strip() for part in value.split(",") if part.strip())
        elif name == "messageDelayLevel":
            config.delay_levels_ms = parse_delay_levels(value)
            if config.delay_levels_ms is None:
                raise UsageError(f"{path}: {name}={value}: give times such as 1s 5s 10m 2h")
        elif name in _KEYS:
            if not (value.isascii() and value.isdigit()) or int(value) == 0 or int(value) >= 1 << 31:
                raise UsageError(f"{path}: {name}={value}: give a positive 32-bit number")
            setattr(config, _KEYS[name], int(value))
    if config.queue_bytes:  # getMappedFileSizeConsumeQueue rounds up to whole units
        config.queue_bytes = -(-config.queue_bytes // UNIT.size) * UNIT.size
    return config


def parse_properties_file(text: str) -> dict[str, str]:
    """java.util.Properties without escapes and continuation lines, which numbers do not need."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        line = line.strip()
        if line and line[0] not in "#!":
            name, _, value = line.replace(":", "=", 1).partition("=") if "=" not in line else line.partition("=")
            found[name.strip()] = value.strip()
    return found


def common_size(sizes: Iterable[int]) -> int | None:
    """The most frequent length of these files, the longest of several; None without files."""
    counted: dict[int, int] = {}
    for size in sizes:
        if size:
            counted[size] = counted.get(size, 0) + 1
    return max(counted, key=lambda size: (counted[size], size), default=None)
