"""A table of arrays prints, in every format, the bytes that the same rows print as a plain table."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from kidx.errors import UsageError
from kidx.report.formats.printer import Printer
from kidx.report.formats.render import FORMATS, render
from kidx.tables.table import BOOL, TEXT, ArrayTable, Column, Table
from kidx.text.integer_text import Maybe

COLUMNS = (
    Column("slot"),
    Column("codec", TEXT, choices=("none", 'g"zip,')),
    Column("ok", BOOL),
    Column("producer_id"),
    Column("state", TEXT, choices=("a", "bbb")),
)
CONSTANTS = {"file": 'odd,"name'}


def arrays(rows: int = 900) -> tuple[object, ...]:
    n = np.arange(rows)
    return (n, n % 2, Maybe(n % 2, n % 3 > 0), Maybe(n - 5, n % 4 > 0), n % 2)


def array_table(**more: object) -> ArrayTable:
    return ArrayTable("kidx.test.v1", COLUMNS, iter([arrays()]), {"x": 1}, constants=CONSTANTS, **more)  # type: ignore[arg-type]


def printed(table: Table, form: str) -> str:
    out = io.StringIO()
    render(table, form, out)
    return out.getvalue()


@pytest.mark.parametrize("form", FORMATS)
def test_same_bytes_as_a_plain_table(form: str) -> None:
    plain = Table("kidx.test.v1", COLUMNS, list(array_table().rows), {"x": 1}, constants=CONSTANTS)
    assert printed(array_table(), form) == printed(plain, form)


def test_text_is_as_wide_as_the_widest_row_that_will_come() -> None:
    columns = [Column("slot"), Column("n")]
    batches = [(np.array([0]), np.array([5])), (np.array([1]), np.array([123456]))]
    lines = printed(ArrayTable("s", columns, batches, widest=(1, 123456)), "text").splitlines()
    assert lines == ["slot       n", "   0       5", "   1  123456"]


@pytest.mark.parametrize("form", FORMATS)
def test_no_rows(form: str) -> None:
    out = printed(ArrayTable("s", COLUMNS, []), form)
    if form == "json":
        assert json.loads(out) == {"schema": "s", "rows": [], "summary": {}}
    assert "slot" in out or form.startswith("json")


def test_printer_joins_tables_in_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer("json", headings=True, any_schema="kidx.any.v1")
    printer.print(array_table())
    printer.print(Table("kidx.other.v1", [Column("a")], [(1,)], {"y": 2}, constants={"file": "b"}))
    printer.close()
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "kidx.any.v1"
    assert [row["schema"] for row in document["rows"]].count("kidx.other.v1") == 1
    assert document["summary"] == {"files": [{**CONSTANTS, "x": 1}, {"file": "b", "y": 2}]}


def test_printer_without_tables_is_a_document_still(capsys: pytest.CaptureFixture[str]) -> None:
    Printer("json", any_schema="kidx.any.v1").close()
    assert json.loads(capsys.readouterr().out) == {"schema": "kidx.any.v1", "rows": [], "summary": {"files": []}}


def test_printer_names_files_in_text_and_columns_once_in_csv(capsys: pytest.CaptureFixture[str]) -> None:
    table = [Table("s", [Column("a")], [(1,)], constants={"file": name}) for name in ("x", "y")]
    for form, wanted in (("text", "==> x <==\na\n1\n\n==> y <==\na\n1\n"), ("csv", "file,a\nx,1\ny,1\n")):
        printer = Printer(form, headings=True)
        for t in table:
            printer.print(t)
        printer.close()
        assert capsys.readouterr().out == wanted


def test_printer_refuses_other_columns_in_csv() -> None:
    printer = Printer("csv")
    printer.print(Table("s", [Column("a")], []))
    with pytest.raises(UsageError, match="csv holds one kind of row"):
        printer.print(Table("t", [Column("b")], []))
