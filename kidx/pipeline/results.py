"""The results of tasks as Arrow rows, one for each unit, and the conversion from a check's result to a row and back.

The manifest stores the same rows: a later scan uses them for units whose mark has not changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kidx.checks.catalogue import RULES
from kidx.checks.engine.result import CheckResult
from kidx.findings import Coverage, Finding, Skipped
from kidx.pipeline.consumer_groups import Commit, Contents
from kidx.pipeline.replicas import BucketSum
from kidx.pipeline.segment_facts import SegmentFacts

_INT, _TEXT = pa.int64(), pa.string()
_ESCAPED = "\0"
_COUNTS = ("files", "entries", "batches", "bytes_checked", "bytes_skipped", "unreadable")
_FINDING = pa.struct(
    [
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
)
SEGMENT = pa.struct(
    [
        ("directory", _TEXT),
        ("base_offset", _INT),
        ("state", _TEXT),
        ("active", pa.bool_()),
        *((name, _INT) for name in SegmentFacts._fields[4:]),
    ]
)
_BUCKET = pa.struct([(name, _INT) for name in BucketSum._fields])
_COMMIT = pa.struct([("group", _TEXT), ("topic", _TEXT), *((name, _INT) for name in Commit._fields[2:])])
FINDINGS = pa.schema(list(_FINDING))
RESULT = pa.schema(
    [
        ("key", _TEXT),
        ("mark", _TEXT),
        *((name, _INT) for name in _COUNTS),
        ("skipped", pa.list_(pa.struct([("what", _TEXT), ("why", _TEXT)]))),
        ("findings", pa.list_(_FINDING)),
        ("unread", pa.list_(_TEXT)),
        ("segments", pa.list_(SEGMENT)),
        ("buckets", pa.list_(_BUCKET)),
        ("start_offset", _INT),
        ("end_offset", _INT),
        ("commits", pa.list_(_COMMIT)),
    ]
)

Row = dict[str, Any]


def to_row(
    key: str,
    mark: str,
    checked: CheckResult,
    segments: Iterable[SegmentFacts] = (),
    buckets: Iterable[BucketSum] = (),
    contents: Contents | None = None,
) -> Row:
    """One unit's result as a row of RESULT."""
    coverage = checked.coverage
    start, end, commits = contents or Contents(None, None, [])
    return {
        "key": to_arrow_text(key),
        "mark": mark,
        **{name: getattr(coverage, name) for name in _COUNTS},
        "skipped": [{"what": to_arrow_text(s.what), "why": to_arrow_text(s.why)} for s in coverage.skipped],
        "findings": [finding_row(f) for f in checked.findings],
        "unread": [to_arrow_text(sentence) for sentence in checked.unread],
        "segments": [s._replace(directory=to_arrow_text(s.directory))._asdict() for s in segments],
        "buckets": [b._replace(total=_signed(b.total))._asdict() for b in buckets],
        "start_offset": start,
        "end_offset": end,
        "commits": [commit._asdict() for commit in commits],
    }


def to_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as one Arrow batch."""
    return pa.RecordBatch.from_pylist(list(rows), schema=RESULT)


def key_of(row: Mapping[str, Any]) -> str:
    """The unit's key, as Unit.key has it."""
    return from_arrow_text(row["key"])


def checked_of(row: Mapping[str, Any]) -> CheckResult:
    """The check's result in a row."""
    coverage = Coverage(
        **{name: row[name] for name in _COUNTS},
        skipped=[Skipped(from_arrow_text(s["what"]), from_arrow_text(s["why"])) for s in row["skipped"]],
    )
    findings = [_finding(f) for f in row["findings"]]
    return CheckResult(findings, coverage, [from_arrow_text(sentence) for sentence in row["unread"]])


def segments_of(row: Mapping[str, Any]) -> list[SegmentFacts]:
    """The segments in a row."""
    return [SegmentFacts(**(s | {"directory": from_arrow_text(s["directory"])})) for s in row["segments"]]


def buckets_of(row: Mapping[str, Any]) -> list[BucketSum]:
    """The bucket sums in a row, for comparing replicas."""
    return [BucketSum(**b) for b in row["buckets"]]


def contents_in(row: Mapping[str, Any]) -> Contents:
    """A partition's bounds and commits in a row."""
    return Contents(row["start_offset"], row["end_offset"], [Commit(**c) for c in row["commits"]])


def finding_row(f: Finding) -> Row:
    """A finding as a row of FINDINGS."""
    row = f._asdict()
    del row["broker"]  # the catalogue has the rule's texts
    row["file"], row["message"] = to_arrow_text(f.file), to_arrow_text(f.message)
    row["expected"], row["found"] = json.dumps(f.expected), json.dumps(f.found)
    return row


def _finding(row: Mapping[str, Any]) -> Finding:
    finding = dict(row)
    finding["file"], finding["message"] = from_arrow_text(row["file"]), from_arrow_text(row["message"])
    finding["expected"], finding["found"] = json.loads(row["expected"]), json.loads(row["found"])
    return Finding(**finding, broker=RULES[row["rule"]].broker)


def to_arrow_text(text: str) -> str:
    """Text that Arrow can store as UTF-8. Undecodable bytes of a path are lone surrogates, which UTF-8 has not."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _ESCAPED + text.encode("unicode_escape").decode("ascii")
    # A path has no NUL, but a unit's key has, and begins with one for files of the working directory.
    return _ESCAPED + text.encode("unicode_escape").decode("ascii") if text.startswith(_ESCAPED) else text


def from_arrow_text(text: str) -> str:
    """The text that `to_arrow_text` was given."""
    return text[1:].encode("ascii").decode("unicode_escape") if text.startswith(_ESCAPED) else text


def _signed(total: int) -> int:
    """An unsigned 64-bit number as a signed one: Spark has no unsigned numbers."""
    return total - 2**64 if total >= 2**63 else total
