"""Checksums of log files: CRC-32C, and whether an entry has the CRC that its header claims.

`crc32c(data, previous=0)` comes from fastcrc; this is the only place that says so (see docs/dependencies.md).
"""

from __future__ import annotations

import zlib

from fastcrc.crc32 import iscsi as crc32c

from kidx.formats.batches import CRC_START, LEGACY_CRC_START, Batch

__all__ = ["crc32c", "crc_holds"]


def crc_holds(batch: Batch, entry: bytes | memoryview) -> bool:
    """Whether an entry (all its bytes) has its CRC: from the attributes on (v2) or from the magic on (v0, v1).

    Sources: DefaultRecordBatch.computeChecksum, LegacyRecord.computeChecksum.
    """
    if batch.magic == 2:
        return int(crc32c(entry[CRC_START:])) == batch.crc
    return zlib.crc32(entry[LEGACY_CRC_START:]) == batch.crc
