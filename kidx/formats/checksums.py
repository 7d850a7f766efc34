"""Checksums: CRC-32C, CRC-32, and whether an entry has the CRC that its header states.

`crc32c(data, previous=0)` comes from fastcrc, `crc32(data, previous=0)` from isal where it is installed: on a kilobyte
it takes a fifth of zlib's time (docs/dependencies.md).
"""

from __future__ import annotations

import zlib

from fastcrc.crc32 import iscsi as crc32c

try:
    from isal.isal_zlib import crc32
except ImportError:  # no wheel of it for this platform
    from zlib import crc32

from kidx.formats.batches import CRC_START, LEGACY_CRC_START, Batch

__all__ = ["crc32", "crc32c", "crc_holds"]


def crc_holds(batch: Batch, entry: bytes | memoryview) -> bool:
    """Whether a complete entry matches its CRC: computed from the attributes on (v2) or from the magic on (v0, v1).

    Sources: DefaultRecordBatch.computeChecksum, LegacyRecord.computeChecksum.
    """
    if batch.magic == 2:
        return int(crc32c(entry[CRC_START:])) == batch.crc
    return zlib.crc32(entry[LEGACY_CRC_START:]) == batch.crc
