"""Lines made from arrays are the lines that Python's own formatting makes, whatever the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.text.integer_text import Choice, LineForm, Maybe, Number

INT64 = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.one_of(INT64, st.integers(-20, 120), st.sampled_from([10**n + d for n in range(19) for d in (-1, 0, 1)]))
SPECS = st.one_of(
    st.builds(Number, st.sampled_from([0, 0, 3, 22]), st.just(b"null")),
    st.just(Number(0, b"Optional.empty", b"Optional[", b"]")),
    st.builds(Choice, st.just((b"no", b"yes", b"100%")), st.sampled_from([0, 5])),
)
Cells = list[int | None]


def slow(form: LineForm, rows: list[Cells]) -> bytes:
    """The obvious way."""

    def cell(spec: Number | Choice, value: int | None) -> bytes:
        if isinstance(spec, Choice):
            return spec.texts[value or 0].ljust(spec.width)
        text = spec.absent if value is None else spec.before + str(value).encode() + spec.after
        return text.rjust(spec.width)

    out = b""
    for row in rows:
        out += form.pieces[0]
        for spec, value, piece in zip(form.columns, row, form.pieces[1:], strict=True):
            out += cell(spec, value) + piece
    return out


def fast(form: LineForm, columns: list[Cells]) -> bytes:
    arrays = []
    for values in columns:
        array = np.array([0 if v is None else v for v in values], np.int64)
        present = np.array([v is not None for v in values])
        arrays.append(array if present.all() else Maybe(array, present))
    text = b"".join(bytes(piece) for piece in form.lines(arrays))
    spans = form.spans(arrays)
    assert spans.data.tobytes() == text
    assert [len(line) for line in spans.tolist() if line is not None] == spans.length.tolist()
    return text


@given(st.data())
def test_any_numbers_in_any_columns(data: st.DataObject) -> None:
    specs = data.draw(st.lists(SPECS, min_size=1, max_size=5))
    pieces = data.draw(
        st.lists(st.sampled_from([b"", b" x: ", b"%", b"%d "]), min_size=len(specs), max_size=len(specs))
    )
    rows = data.draw(st.integers(1, 40)) * data.draw(st.sampled_from([1, 7]))
    form = LineForm([*pieces, b"\n"], specs)
    columns: list[Cells] = []
    for spec in specs:
        few = st.integers(0, 2) if isinstance(spec, Choice) else NUMBERS
        if not isinstance(spec, Choice) and data.draw(st.booleans()):
            few = st.one_of(st.none(), few)  # type: ignore[arg-type]
        values = data.draw(st.lists(few, min_size=1, max_size=8))
        columns.append((values * rows)[:rows])
    lines = [list(row) for row in zip(*columns, strict=True)]
    assert fast(form, columns) == slow(form, lines) == form.plain(lines)
    arrays = [Maybe(*(np.array(x) for x in ([v or 0 for v in c], [v is not None for v in c]))) for c in columns]
    assert form.spans(arrays).tolist() == [slow(form, [line]) for line in lines]


@pytest.mark.parametrize("start", [0, 10**8 - 5000, 2**32 - 70_000, 10**12, 10**18 - 40_000, -40_000, -(10**10)])
def test_rising_numbers_across_every_change_of_digits(start: int) -> None:
    rows = 40_000  # several chunks
    rising = [start + 3 * i for i in range(rows)]
    other = [i * i for i in range(rows)]
    form = LineForm([b"offset: ", b" position: ", b"\n"], [Number(), Number(12)])
    wanted = b"".join(b"offset: %d position: %12d\n" % pair for pair in zip(rising, other, strict=True))
    assert fast(form, [list(rising), list(other)]) == wanted


@pytest.mark.parametrize("widths", [2, 12, 400])
def test_rows_that_change_shape_often_keep_their_order(widths: int) -> None:
    generator = np.random.default_rng(widths)
    rows = 20_000
    columns = [generator.integers(-(2**31), 2**31, rows), (10 ** (generator.random(rows) * 18)).astype(np.int64)]
    columns = [c % 10 ** min(widths, 18) if widths < 400 else c for c in columns]
    form = LineForm([b"", b" ", b"\n"], [Number(), Number()])
    lines = b"".join(bytes(piece) for piece in form.lines(columns))
    assert lines == b"".join(b"%d %d\n" % pair for pair in zip(*(c.tolist() for c in columns), strict=True))


def test_many_columns_of_many_shapes_do_not_overflow_the_key() -> None:
    generator = np.random.default_rng(1)
    columns = [(10 ** (generator.random(3000) * 18)).astype(np.int64) for _ in range(16)]
    columns = [np.where(generator.random(3000) < 0.9, 5, c) for c in columns]
    form = LineForm([b""] + [b" "] * 15 + [b"\n"], [Number()] * 16)
    rows = zip(*(c.tolist() for c in columns), strict=True)
    assert b"".join(bytes(p) for p in form.lines(columns)) == b"".join(
        b" ".join(b"%d" % v for v in r) + b"\n" for r in rows
    )


def test_no_rows_make_no_lines() -> None:
    form = LineForm([b"", b"\n"], [Number()])
    assert list(form.lines([np.zeros(0, np.int64)])) == []
    assert form.plain([]) == b""


def test_pieces_and_columns_must_fit() -> None:
    with pytest.raises(ValueError, match="need 3 pieces"):
        LineForm([b"", b""], [Number(), Number()])
