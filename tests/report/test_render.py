"""One table, every format: the same rows, absent cells said, nothing a file can hold breaks a line."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.report.formats.render import FORMATS, render
from kidx.tables.table import BOOL, BYTES, TEXT, TIMESTAMP, TREE, Column, Table
from kidx.text.quantities import iso_time

COLUMNS = (
    Column("slot"),
    Column("name", TEXT),
    Column("timestamp", TIMESTAMP),
    Column("ok", BOOL),
    Column("key", BYTES),
    Column("pages", TREE),
)
ROWS = [(0, "a", 1_700_000_000_000, True, b"\xff\0", [1, 2]), (1, "Ünïcode", -1, False, b"", []), (2, *[None] * 5)]


def printed(form: str, rows: list[tuple[object, ...]] = ROWS, *, iso: bool = False, **more: object) -> str:
    out = io.StringIO()
    render(Table("kidx.test.v1", COLUMNS, iter(rows), **more), form, out, iso=iso)  # type: ignore[arg-type]
    return out.getvalue()


def test_text_aligns_numbers_right_and_shows_what_is_absent() -> None:
    assert printed("text").splitlines() == [
        "slot  name         timestamp  ok   key   pages",
        "   0  a        1700000000000  yes  ff00  [1, 2]",
        "   1  Ünïcode             -1  no         []",
        "   2  -                    -  -    -     -",
    ]


def test_json_lines_have_schema_and_constants_first_and_null_for_absent() -> None:
    lines = printed("jsonl", constants={"file": "x.index"}, summary={"schema": "kidx.summary.v1", "files": 1})
    rows = [json.loads(line) for line in lines.splitlines()]
    assert list(rows[0]) == ["schema", "file", *(c.name for c in COLUMNS)]
    assert rows[0] == {
        "schema": "kidx.test.v1",
        "file": "x.index",
        "slot": 0,
        "name": "a",
        "timestamp": 1_700_000_000_000,
        "ok": True,
        "key": "ff00",
        "pages": [1, 2],
    }
    assert rows[2]["key"] is rows[2]["pages"] is rows[2]["name"] is None
    assert rows[3] == {"schema": "kidx.summary.v1", "files": 1}


def test_json_is_one_object_with_the_same_rows() -> None:
    whole = json.loads(printed("json", summary={"entries": 3}))
    assert list(whole) == ["schema", "rows", "summary"]
    assert whole["rows"] == [json.loads(line) for line in printed("jsonl").splitlines()]
    assert whole["summary"] == {"entries": 3}
    assert json.loads(printed("json", [])) == {"schema": "kidx.test.v1", "rows": [], "summary": {}}


def test_csv_reads_back() -> None:
    rows = list(csv.reader(io.StringIO(printed("csv", constants={"file": 'a,"b'}))))
    assert rows[0] == ["file", *(c.name for c in COLUMNS)]
    assert rows[1] == ['a,"b', "0", "a", "1700000000000", "True", "ff00", "[1, 2]"]
    assert rows[3] == ['a,"b', "2", "", "", "", "", ""]


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "csv"])
def test_iso_adds_a_twin_beside_each_timestamp(form: str) -> None:
    assert "2023-11-14T22:13:20.000Z" in printed(form, iso=True)
    assert "timestamp_iso" in printed("jsonl", iso=True)


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_table_is_printed(form: str) -> None:
    printed(form, [])


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=8))
def test_no_text_breaks_a_line_or_reaches_the_terminal_as_a_control(name: str) -> None:
    for form in ("text", "table"):
        shown = printed(form, [(0, name, 1, True, b"", None)])
        assert all(character.isprintable() for line in shown.split("\n") for character in line)
    assert len(printed("text", [(0, name, 1, True, b"", None)]).split("\n")) == 3
    assert json.loads(printed("jsonl", [(0, name, 1, True, b"", None)]))["name"] == name


@pytest.mark.parametrize(
    ("timestamp_ms", "iso"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (4_102_444_800_000, "2100-01-01T00:00:00.000Z"),
        (-2, "1969-12-31T23:59:59.998Z"),
        (-1, None),
        (None, None),
        (2**63 - 1, None),
        (-(2**63), None),
    ],
)
def test_iso_times(timestamp_ms: int | None, iso: str | None) -> None:
    assert iso_time(timestamp_ms) == iso


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999).filter(lambda t: t != -1))
def test_iso_times_read_back(timestamp_ms: int) -> None:
    shown = iso_time(timestamp_ms)
    assert shown is not None
    since_epoch = datetime.fromisoformat(shown) - datetime(1970, 1, 1, tzinfo=UTC)
    assert since_epoch // timedelta(milliseconds=1) == timestamp_ms


def test_a_table_never_breaks_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe and on a narrow terminal alike: half a number is none."""
    monkeypatch.setenv("COLUMNS", "20")
    out = io.StringIO()
    columns = [Column(f"offset_{n}") for n in range(9)]
    render(Table("kidx.x.v1", columns, [[2**63 - 1 - n for n in range(9)]]), "table", out)
    assert all(str(2**63 - 1 - n) in out.getvalue() for n in range(9))
