"""What tasks send back, a row a unit: an Arrow schema, and the way from a check's result to a row and back.

The same rows are the manifest: what a later scan takes over for a unit whose mark has not changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kidx.checks.catalogue import RULES
from kidx.checks.engine.result import CheckResult
from kidx.findings import Coverage, Finding, Skipped
from kidx.pipeline.facts import SegmentFacts
from kidx.pipeline.groups import Commit, Contents
from kidx.pipeline.replicas import BucketSum

_INT, _TEXT = pa.int64(), pa.string()
_SHIELD = "\0"
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
        "key": shield(key),
        "mark": mark,
        **{name: getattr(coverage, name) for name in _COUNTS},
        "skipped": [{"what": shield(s.what), "why": shield(s.why)} for s in coverage.skipped],
        "findings": [finding_row(f) for f in checked.findings],
        "unread": [shield(sentence) for sentence in checked.unread],
        "segments": [s._replace(directory=shield(s.directory))._asdict() for s in segments],
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
    return unshield(row["key"])


def checked_of(row: Mapping[str, Any]) -> CheckResult:
    """The check's result that a row was made of."""
    coverage = Coverage(
        **{name: row[name] for name in _COUNTS},
        skipped=[Skipped(unshield(s["what"]), unshield(s["why"])) for s in row["skipped"]],
    )
    findings = [_finding(f) for f in row["findings"]]
    return CheckResult(findings, coverage, [unshield(sentence) for sentence in row["unread"]])


def segments_of(row: Mapping[str, Any]) -> list[SegmentFacts]:
    """The segments that a row tells of."""
    return [SegmentFacts(**(s | {"directory": unshield(s["directory"])})) for s in row["segments"]]


def buckets_of(row: Mapping[str, Any]) -> list[BucketSum]:
    """The sums over batches that a row holds, for comparing replicas."""
    return [BucketSum(**b) for b in row["buckets"]]


def contents_in(row: Mapping[str, Any]) -> Contents:
    """A partition's bounds and what groups committed in it, as a row holds them."""
    return Contents(row["start_offset"], row["end_offset"], [Commit(**c) for c in row["commits"]])


def finding_row(f: Finding) -> Row:
    """A finding as a row of FINDINGS."""
    row = f._asdict()
    del row["broker"]  # the rule's text, which the catalogue has
    row["file"], row["message"] = shield(f.file), shield(f.message)
    row["expected"], row["found"] = json.dumps(f.expected), json.dumps(f.found)
    return row


def _finding(row: Mapping[str, Any]) -> Finding:
    told = dict(row)
    told["file"], told["message"] = unshield(row["file"]), unshield(row["message"])
    told["expected"], told["found"] = json.loads(row["expected"]), json.loads(row["found"])
    return Finding(**told, broker=RULES[row["rule"]].broker)


def shield(text: str) -> str:
    """Text as UTF-8 can hold it: a path may be any bytes, which Python keeps as lone surrogates. See unshield."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _SHIELD + text.encode("unicode_escape").decode("ascii")
    # No path holds a NUL, but a unit's key does, and begins with it for files of the working directory.
    return _SHIELD + text.encode("unicode_escape").decode("ascii") if text.startswith(_SHIELD) else text


def unshield(text: str) -> str:
    """What `shield` was given."""
    return text[1:].encode("ascii").decode("unicode_escape") if text.startswith(_SHIELD) else text


def _signed(total: int) -> int:
    """Spark has no unsigned numbers."""
    return total - 2**64 if total >= 2**63 else total
