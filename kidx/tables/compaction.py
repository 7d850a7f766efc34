"""What a cleaning would keep and drop, as rows: one per segment, or one per record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kidx.cleaner.map_sizing import expected_collision_rate, need_of, smallest_buffer
from kidx.cleaner.plan import Plan
from kidx.cleaner.retention import DROPPED
from kidx.tables.table import BOOL, INT, TEXT, TREE, Column, Table

_SEGMENT_COLUMNS = (
    Column("segment"),
    Column("group"),
    Column("records"),
    Column("kept"),
    Column("dropped", TREE),
    Column("bytes_before", INT, "bytes"),
    Column("bytes_after", INT, "bytes"),
)
_RECORD_COLUMNS = (Column("offset"), Column("kept", BOOL), Column("why", TEXT))


def segment_table(plan: Plan) -> Table:
    """kidx.compaction_segment.v1: a row a segment; its summary is kidx.summary.v1."""
    summary = _summary(plan)

    def rows() -> Iterator[Sequence[Any]]:
        for s in plan.segments():
            dropped = {why: s.dropped[why] for why in DROPPED}
            summary["files"] += 1
            summary["records"] += s.records
            summary["kept"] += s.kept
            summary["bytes_checked"] += s.bytes_before
            summary["bytes_saved"] += s.bytes_before - s.bytes_after
            yield s.segment.base_offset, s.group, s.records, s.kept, dropped, s.bytes_before, s.bytes_after

    return Table("kidx.compaction_segment.v1", _SEGMENT_COLUMNS, rows(), summary)


def record_table(plan: Plan) -> Table:
    """kidx.compaction_record.v1: a row a record; its summary is kidx.summary.v1."""
    summary = _summary(plan) | {"bytes_saved": None}
    summary["files"] = len(plan.reader.segments)
    summary["bytes_checked"] = sum(s.files["log"].size() for s in plan.reader.segments)

    def rows() -> Iterator[Sequence[Any]]:
        for record in plan.records():
            summary["records"] += 1
            summary["kept"] += record.kept
            yield record

    return Table("kidx.compaction_record.v1", _RECORD_COLUMNS, rows(), summary)


def _summary(plan: Plan) -> dict[str, Any]:
    offset_map, options, dirty = plan.offset_map, plan.options, plan.dirty
    need = need_of(plan)
    return {
        "schema": "kidx.summary.v1",
        "partition": plan.reader.partition.directory,
        "files": 0,
        "records": 0,
        "kept": 0,
        "bytes_checked": 0,
        "bytes_saved": 0,
        "first_dirty": dirty.first_dirty,
        "first_dirty_why": dirty.first_dirty_why,
        "first_uncleanable": dirty.first_uncleanable,
        "first_uncleanable_why": dirty.first_uncleanable_why,
        "cleaned_up_to": plan.cleaned_up_to,
        "one_pass_is_enough": not plan.map_full,
        "distinct_keys": need.keys,
        "map_slots": offset_map.slots,
        "map_entries": offset_map.size,
        "map_utilization": offset_map.utilization,
        "collision_rate": plan.map_collision_rate,
        "expected_collision_rate": expected_collision_rate(offset_map.size, offset_map.slots),
        "smallest_dedupe_buffer_bytes": smallest_buffer(
            need.entries, offset_map.digest, options.load_factor, options.threads
        ),
        "digest": offset_map.digest.name,
        "now": options.now_ms,
        "exit_status": 0,
    }
