"""Records as Arrow batches."""

from __future__ import annotations

import sys

import pytest

from kidx.errors import UsageError
from kidx.evidence import from_bytes, open_evidence
from kidx.segments.arrow_records import RECORD_COLUMNS, record_batch, record_schema
from kidx.segments.column_reader import read_columns
from tests.building import batch, message, record
from tests.segments.test_column_reader import by_columns
from tests.segments.test_scan import LOGS

WITHOUT_PLACE = [name for name in RECORD_COLUMNS if name not in ("topic", "partition", "segment")]


def test_without_pyarrow_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"kidx\[sql\]"):
        record_schema()


def test_every_record_of_every_log() -> None:
    pytest.importorskip("pyarrow")
    schema = record_schema()
    for log in LOGS[:80]:
        with open_evidence(str(log)) as evidence:
            rows = [
                row
                for block in read_columns(evidence)
                for row in record_batch(block, schema, topic="t", partition=3, segment=40).to_pylist()
            ]
            expected = by_columns(read_columns(evidence))
        assert [(r["offset"], r["timestamp"], r["key"], r["value"]) for r in rows] == [
            (*r[:2], *r[12:14]) for r in expected
        ]
        assert [(r["position"], r["control_type"], r["sequence"]) for r in rows] == [
            (r[2], r[-1], r[7]) for r in expected
        ]
        assert all((r["topic"], r["partition"], r["segment"]) == ("t", 3, 40) for r in rows)


def test_what_a_row_holds() -> None:
    pytest.importorskip("pyarrow")
    headers = [(b"a", b"1"), (b"\xff", None)]
    log = from_bytes(
        message(b"old", offset=1, magic=0)
        + batch([record(0, key=b"k", value=None, headers=headers), record(1, value=b"")], base_offset=2)
    )
    schema = record_schema(WITHOUT_PLACE)
    rows = [
        row
        for block in read_columns(log)
        for row in record_batch(block, schema, topic=None, partition=None, segment=None).to_pylist()
    ]
    assert [r["headers"] for r in rows] == [
        [],
        [{"key": "a", "value": b"1"}, {"key": r"\xff", "value": None}],
        [],
    ]
    assert [(r["key"], r["value"]) for r in rows] == [(None, b"old"), (b"k", None), (None, b"")]
    assert [r["timestamp_type"] for r in rows] == [None, "CreateTime", "CreateTime"]
    assert [r["producer_id"] for r in rows] == [None, -1, -1]
    assert [r["transactional"] for r in rows] == [None, False, False]


def test_an_unknown_column_is_refused() -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(UsageError, match="no column nonsense"):
        record_schema(["offset", "nonsense"])
