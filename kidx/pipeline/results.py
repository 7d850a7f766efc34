"""The result of a task for one unit, as a row: what was found and covered, and facts for questions about the fleet.

The rows of a run are kept below --out; a later scan uses them for units whose mark has not changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kidx.checks.catalogue import RULES
from kidx.checks.engine.partition import FUTURE_MS
from kidx.checks.engine.result import CheckResult
from kidx.checks.subjects.replicas import RetainedSegments
from kidx.findings import Coverage, Finding, Skipped
from kidx.pages.geometry import PAGE_BYTES
from kidx.pipeline.consumer_groups import Commit, Contents
from kidx.pipeline.frames import Row, from_arrow_text, to_arrow_text
from kidx.pipeline.replica_sets import ReplicaFacts
from kidx.pipeline.replicas import BucketSum, ReplicaIdentity
from kidx.pipeline.segment_facts import SegmentFacts

_INT, _TEXT = pa.int64(), pa.string()
COUNTS = ("files", "entries", "batches", "bytes_checked", "bytes_skipped", "unreadable")
FINDING_FIELDS = [
    ("rule", _TEXT),
    ("severity", _TEXT),
    ("file", _TEXT),
    ("byte_start", _INT),
    ("byte_end", _INT),
    ("slot", _INT),
    ("expected", _TEXT),  # JSON, for a rule may expect a number, a word or a list
    ("found", _TEXT),
    ("message", _TEXT),
]
FINDINGS = pa.schema(FINDING_FIELDS)
PLACE_FIELDS = [("cluster", _TEXT), ("broker", _TEXT), ("topic", _TEXT), ("partition", pa.int32())]
PLACED_FINDINGS = pa.schema([*PLACE_FIELDS, ("directory", _TEXT), *FINDING_FIELDS])
SEGMENT = pa.struct(
    [
        ("directory", _TEXT),
        ("base_offset", _INT),
        ("state", _TEXT),
        ("active", pa.bool_()),
        *((name, _INT) for name in SegmentFacts._fields[4:]),
    ]
)
SIZES = (
    *("segments", "log_bytes", "index_bytes", "zero_tail_bytes", "index_entries", "segments_without_entries"),
    "page_cache_bytes",
)
WARM_SECTION = pa.struct(
    [
        *((name, _INT) for name in ("segment", "warm_from_offset", "last_indexed_offset", "warm_records")),
        ("coverage", pa.float64()),
        ("warm_pages", _INT),
    ]
)
STALLED = pa.struct([(name, _INT) for name in ("segment", "largest_timestamp", "segments", "held_bytes")])
_BUCKET = pa.struct([(name, _INT) for name in BucketSum._fields])
_COMMIT = pa.struct([("group", _TEXT), ("topic", _TEXT), *((name, _INT) for name in Commit._fields[2:])])
_IDENTITY = [
    *((name, _TEXT) for name in ReplicaIdentity._fields[:2]),
    ("high_watermark", _INT),
    ("stopped_cleanly", pa.bool_()),
    ("cleaned_below", _INT),
    ("live_segments", _INT),
]
RESULT = pa.schema(
    [
        *((name, _TEXT) for name in ("key", "mark", "directory", "path", "broker", "topic")),
        ("partition", pa.int32()),
        ("log_dir", pa.bool_()),
        ("compared", pa.bool_()),
        *((name, _INT) for name in COUNTS),
        ("skipped", pa.list_(pa.struct([("what", _TEXT), ("why", _TEXT)]))),
        ("findings", pa.list_(pa.struct(FINDING_FIELDS))),
        ("unread", pa.list_(_TEXT)),
        *((name, _INT) for name in SIZES),
        ("warm_sections", pa.list_(WARM_SECTION)),
        ("stalled_retention", pa.list_(STALLED)),
        *_IDENTITY,
        ("start_offset", _INT),
        ("end_offset", _INT),
        ("buckets", pa.list_(_BUCKET)),
        ("commits", pa.list_(_COMMIT)),
    ]
)
_OF_UNIT = RESULT.names[: RESULT.names.index("files")]  # what a row has from that of its unit


def result_row(
    unit: Mapping[str, Any],
    checked: CheckResult,
    segments: Sequence[SegmentFacts] = (),
    buckets: Iterable[BucketSum] = (),
    contents: Contents | None = None,
    identity: ReplicaIdentity | None = None,
    now_ms: int = 0,
) -> Row:
    """One unit's result as a row of RESULT. `unit` is its row of listing.UNIT."""
    coverage = checked.coverage
    start, end, commits = contents or Contents(None, None, [])
    return {
        **{name: unit[name] for name in _OF_UNIT},
        **{name: getattr(coverage, name) for name in COUNTS},
        "skipped": [{"what": to_arrow_text(s.what), "why": to_arrow_text(s.why)} for s in coverage.skipped],
        "findings": [finding_row(f) for f in checked.findings],
        "unread": [to_arrow_text(sentence) for sentence in checked.unread],
        **_sizes(segments),
        "warm_sections": [row for s in segments if (row := _warm_section(s)) is not None],
        "stalled_retention": _stalled(segments, now_ms),
        **(identity or ReplicaIdentity())._asdict(),
        "start_offset": start,
        "end_offset": end,
        "buckets": [b._replace(total=_signed(b.total))._asdict() for b in buckets],
        "commits": [commit._asdict() for commit in commits],
    }


def _sizes(segments: Sequence[SegmentFacts]) -> Row:
    """SIZES of a partition. `page_cache_bytes` is the size of the warm sections of the active segment's indexes: the
    pages that look-ups near the log's end touch, and that a broker should have in memory.
    """
    return {
        "segments": len(segments),
        "log_bytes": sum(s.log_bytes for s in segments),
        "index_bytes": sum(s.index_bytes for s in segments),
        "zero_tail_bytes": sum(s.zero_tail_bytes for s in segments),
        "index_entries": sum(s.offset_entries for s in segments),
        "segments_without_entries": sum(1 for s in segments if not s.offset_entries and s.log_bytes > PAGE_BYTES),
        "page_cache_bytes": sum(s.warm_pages for s in segments if s.active) * PAGE_BYTES,
    }


def _warm_section(s: SegmentFacts) -> Row | None:
    """The offset from which on look-ups in an active segment stay in the warm section, and its share."""
    if not s.active or s.last_indexed_offset is None or s.warm_from_offset is None:
        return None
    indexed, warm = s.last_indexed_offset - s.base_offset, s.last_indexed_offset - s.warm_from_offset
    return {
        "segment": s.base_offset,
        "warm_from_offset": s.warm_from_offset,
        "last_indexed_offset": s.last_indexed_offset,
        "warm_records": warm,
        "coverage": round(warm / indexed, 4) if indexed > 0 else 1.0,
        "warm_pages": s.warm_pages,
    }


def _stalled(segments: Sequence[SegmentFacts], now_ms: int) -> list[Row]:
    """The first segment whose largest timestamp is in the future, with the log bytes of it and of all later ones."""
    living = sorted((s for s in segments if not s.state), key=lambda s: s.base_offset)
    for number, s in enumerate(living):
        if s.largest_timestamp is not None and s.largest_timestamp > now_ms:
            retained = living[number:]
            held = sum(later.log_bytes for later in retained)
            values = s.base_offset, s.largest_timestamp, len(retained), held
            return [dict(zip((field.name for field in STALLED), values, strict=True))]
    return []


def checked_of(row: Mapping[str, Any]) -> CheckResult:
    """The check's result in a row."""
    coverage = Coverage(
        **{name: row[name] for name in COUNTS},
        skipped=[Skipped(from_arrow_text(s["what"]), from_arrow_text(s["why"])) for s in row["skipped"]],
    )
    findings = [finding_of(f) for f in row["findings"]]
    return CheckResult(findings, coverage, [from_arrow_text(sentence) for sentence in row["unread"]])


def replica_of(row: Mapping[str, Any]) -> ReplicaFacts:
    """The replica in a row, by its absolute directory."""
    identity = ReplicaIdentity(**{name: row[name] for name in ReplicaIdentity._fields})
    sums = [BucketSum(**b) for b in row["buckets"]]
    path, broker = from_arrow_text(row["path"]), from_arrow_text(row["broker"])
    return ReplicaFacts(path, broker, row["topic"], row["partition"], identity, row["end_offset"], sums)


def retained_in(row: Mapping[str, Any], now_ms: int) -> list[RetainedSegments]:
    """The segments that a timestamp in the future retains, in a row."""
    directory, limit_ms = from_arrow_text(row["directory"]), now_ms + FUTURE_MS
    return [
        RetainedSegments(
            f"{directory}/{s['segment']:020d}.log", s["largest_timestamp"], s["segments"], s["held_bytes"], limit_ms
        )
        for s in row["stalled_retention"]
    ]


def finding_row(f: Finding) -> Row:
    """A finding as a row of FINDINGS."""
    row = f._asdict()
    del row["broker"]  # the catalogue has the rule's texts
    row["file"], row["message"] = to_arrow_text(f.file), to_arrow_text(f.message)
    row["expected"], row["found"] = json.dumps(f.expected), json.dumps(f.found)
    return row


def finding_of(row: Mapping[str, Any]) -> Finding:
    """The finding in a row that has the fields of FINDINGS."""
    finding = {name: row[name] for name in FINDINGS.names}
    finding["file"], finding["message"] = from_arrow_text(row["file"]), from_arrow_text(row["message"])
    finding["expected"], finding["found"] = json.loads(row["expected"]), json.loads(row["found"])
    return Finding(**finding, broker=RULES[row["rule"]].broker)


def _signed(total: int) -> int:
    """An unsigned 64-bit number as a signed one: Spark has no unsigned numbers."""
    return total - 2**64 if total >= 2**63 else total
