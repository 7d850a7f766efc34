"""Kafka's log cleaner: its offset map, and what a compaction would keep."""

from kidx.cleaner.offset_map import OffsetMap, OffsetMapFull

__all__ = ["OffsetMap", "OffsetMapFull"]
