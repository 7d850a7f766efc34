"""Tables with columns of texts, structs and lists: the same bytes as their rows make one by one."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.report.formats.array_tables import FORMATS
from kidx.report.formats.render import render
from kidx.tables.nested import Lists, Structs, part, python_cells
from kidx.tables.table import INT, TEXT, TREE, ArrayTable, Column, Table
from kidx.text.integer_text import Maybe
from kidx.text.spans import spans_of

COLUMNS = [Column("number"), Column("text", TEXT), Column("tree", TREE), Column("list", TREE), Column("last", INT)]
CHARACTERS = st.sampled_from(["a", '"', "\\", ",", "\n", "\x1b", "\x7f", "é", "€", "😀", "\u2028", "\u0085", " "])
TEXTS = st.none() | st.lists(CHARACTERS, max_size=8).map("".join)


def objects(names: tuple[str, str], *fields: Any) -> Any:
    return st.tuples(*fields).map(lambda values: dict(zip(names, values, strict=True)))


ROW = st.tuples(
    st.none() | st.integers(-5, 10**12),
    TEXTS,
    st.none()
    | st.tuples(st.integers(0, 1000), TEXTS).map(lambda pair: dict(zip(("length", "name"), pair, strict=True))),
    st.lists(st.tuples(TEXTS, TEXTS).map(lambda pair: dict(zip(("key", "value"), pair, strict=True))), max_size=3),
    st.integers(0, 9),
)


def texts(values: list[str | None]) -> Any:
    return spans_of([None if v is None else v.encode() for v in values])


def arrays(rows: list[Any]) -> list[Any]:
    numbers, strings, trees, lists, last = map(list, zip(*rows, strict=True))
    here = np.array([v is not None for v in trees])
    trees = [v or {"length": 0, "name": None} for v in trees]
    items = [item for one in lists for item in one]
    pairs = {name: texts([item[name] for item in items]) for name in ("key", "value")}
    return [
        Maybe(np.array([v or 0 for v in numbers], np.int64), np.array([v is not None for v in numbers])),
        texts(strings),
        Structs({"length": np.array([t["length"] for t in trees]), "name": texts([t["name"] for t in trees])}, here),
        Lists(np.array([len(one) for one in lists]), Structs(pairs, np.ones(len(items), np.bool_))),
        np.array(last, np.int64),
    ]


def printed(table: Table, form: str) -> str:
    out = io.StringIO()
    render(table, form, out)
    return out.getvalue()


@pytest.mark.parametrize("form", FORMATS)
@given(st.lists(ROW, min_size=1, max_size=8))
def test_as_rows_are_printed(form: str, rows: list[Any]) -> None:
    halves = [arrays(half) for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]) if half]
    wanted = printed(Table("kidx.test.v1", COLUMNS, rows, {"n": 1}, constants={"file": "f"}), form)
    assert printed(ArrayTable("kidx.test.v1", COLUMNS, iter(halves), {"n": 1}, constants={"file": "f"}), form) == wanted


@given(st.lists(ROW, min_size=1, max_size=8), st.data())
def test_parts_and_rows(rows: list[Any], data: st.DataObject) -> None:
    columns = arrays(rows)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    cuts: list[Callable[[list[Any]], Any]] = [lambda r: r[1:4], lambda r: [r[i] for i in chosen]]
    for cut, of_rows in zip((slice(1, 4), np.array(chosen, np.int64)), cuts, strict=True):
        found = list(zip(*(python_cells(part(column, cut)) for column in columns), strict=True))
        assert found == of_rows([tuple(row) for row in rows])
