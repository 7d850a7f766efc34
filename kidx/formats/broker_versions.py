"""Kafka's releases: which one changed what brokers answer or write.

Sources: ListOffsetsRequest.json and UnifiedLog of the releases named. Brokers of 2.4, 3.5, 3.7 and 4.1 were asked.
"""

from __future__ import annotations

from kidx.errors import UsageError

Version = tuple[int, ...]

OLDEST: Version = (0, 9)
NEWEST: Version = (4, 3)  # the newest release that kidx was compared with

WARM_SEARCH: Version = (2, 2)  # KAFKA-6432: a binary search begins with the last pages of an index
MAX_TIMESTAMP: Version = (3, 0)  # KIP-734: ListOffsets answers the largest timestamp
EARLIEST_LOCAL: Version = (3, 5)  # KIP-405
MAX_TIMESTAMP_BY_RECORD: Version = (3, 8)  # KAFKA-16310: by the record; before, by the time index's last entry
LATEST_TIERED: Version = (3, 9)  # KIP-1005
EARLIEST_PENDING_UPLOAD: Version = (4, 2)  # KIP-1023


def parse_version(text: str) -> Version:
    """`3.7.2` or `3.7` as numbers. Raises UsageError for anything else, and for versions before 0.9."""
    parts = text.split(".")
    if not 2 <= len(parts) <= 4 or not all(p.isascii() and p.isdigit() and len(p) < 4 for p in parts):
        raise UsageError(f"{text}: no version of Kafka; one looks like 3.7 or 3.7.2")
    version = tuple(map(int, parts))
    if version < OLDEST:
        raise UsageError(f"{text}: kidx knows brokers from {version_text(OLDEST)} on")
    return version


def version_text(version: Version) -> str:
    """A version as people write it: 3.7."""
    return ".".join(map(str, version))
