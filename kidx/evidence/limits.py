"""How large the small files next to logs may be: they are read as a whole, and their sizes are a stranger's choice.

The limits are far above what brokers write. An offset checkpoint has a line of some 40 bytes for each partition, so
4 MiB hold 100,000 partitions of a broker; Kafka's guidance is 4,000. A leader-epoch-checkpoint has 10 to 30 bytes for
each change of a leader: 1 MiB holds ten changes a day for ten years. A producer snapshot has 46 bytes for each producer
that wrote to the partition within a day: 16 MiB hold 360,000, more than brokers bear. The others have a few lines.
"""

from __future__ import annotations

import os

SMALL_FILE_BYTES = 4 << 20
INDEX_BYTES = 64 << 20  # of an index that is read as a whole besides the file that was asked for; brokers' have 10 MiB
_SNAPSHOT_BYTES = 16 << 20
_BY_NAME = {
    "leader-epoch-checkpoint": 1 << 20,
    "meta.properties": 1 << 16,
    "partition.metadata": 1 << 16,
    "quorum-state": 1 << 16,
    ".kafka_cleanshutdown": 1 << 16,
}


def small_file_limit(path: str) -> int:
    """The largest size, in bytes, of a file that is read as a whole."""
    name = os.path.basename(path)
    return _SNAPSHOT_BYTES if name.endswith(".snapshot") else _BY_NAME.get(name, SMALL_FILE_BYTES)
