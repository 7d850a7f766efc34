"""Lines of text from arrays of integers, millions of them at a time.

A line is literal pieces with columns between them. The shape of a number is its number of digits and its sign. Rows
whose numbers have the same shapes make lines of the same length, which are filled in together: one template is copied
for each row, and digits are stored into it four at a time, with a stride of one line, from a table of the 10,000 texts
"0000" to "9999". What is constant in a group of rows (a column, or the digits above the last eight: offsets and
timestamps change little) is part of the template. If shapes change often, rows are grouped by shape and the lines are
scattered to their places. If nearly every row has a shape of its own (damaged files), Python's % is as fast, and is
used instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.text.spans import Spans

    Integers = npt.NDArray[np.int64]
    Bytes = npt.NDArray[np.uint8]
    Shapes = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]

_BLOCK_ROWS = 1 << 16  # rows that are grouped by shape at once: the more rows, the larger the groups
_CHUNK_ROWS = 1 << 14  # rows that are filled at once: their lines fit into the second-level cache
_ROWS_A_GROUP = 24  # for smaller groups, % costs less than a few dozen numpy calls
_PLAIN_ROWS = 4096  # rows that one % formats at once
_E8 = 10**8
_ABSENT = 0  # the shape of an absent number; others are 2 * digits + (1 if negative)


class Number(NamedTuple):
    """The form of a column of integers: right-aligned in at least `width` characters, `absent` where there is none."""

    width: int = 0
    absent: bytes = b"-"
    before: bytes = b""  # text directly around a number that is present
    after: bytes = b""


class Choice(NamedTuple):
    """The form of a column of indexes into `texts`: left-aligned in at least `width` characters."""

    texts: tuple[bytes, ...]
    width: int = 0


class Maybe(NamedTuple):
    """A column with absent values: `values` int64, shape (rows,); `present` bool, shape (rows,)."""

    values: Integers
    present: npt.NDArray[np.bool_]

    def copy(self) -> Maybe:
        """Values and presence in newly allocated memory."""
        return Maybe(self.values.copy(), self.present.copy())

    def part(self, rows: Any) -> Maybe:
        """Some rows: a slice, or an array of row numbers."""
        return Maybe(self.values[rows], self.present[rows])


class _Store(NamedTuple):
    """Digits to store: where they begin before the number's end, how many, and of which `numbers` (uint32, (rows,))."""

    from_end: int
    digits: int
    numbers: npt.NDArray[np.uint32]


class LineForm:
    """The form of a line. `pieces` are the literal bytes before, between and after `columns`: one more than columns.

    Raises ValueError if their numbers do not match.
    """

    def __init__(self, pieces: Sequence[bytes], columns: Sequence[Number | Choice]) -> None:
        if len(pieces) != len(columns) + 1:
            raise ValueError(f"{len(columns)} columns need {len(columns) + 1} pieces, not {len(pieces)}")
        self.pieces, self.columns = tuple(pieces), tuple(columns)
        self._percent = b"".join(
            piece.replace(b"%", b"%%") + _percent_of(column)
            for piece, column in zip(self.pieces, [*self.columns, None], strict=True)
        )
        self._room = memoryview(b"")

    def plain(self, rows: Iterable[Sequence[int | None]]) -> bytes:
        """Rows of Python integers (None: absent) as lines, without numpy. `lines` gives the same bytes for arrays."""
        rows = iter(rows)
        out = []
        while block := list(islice(rows, _PLAIN_ROWS)):
            try:
                out.append(self._percent * len(block) % tuple(chain.from_iterable(block)))
            except TypeError:  # a choice, or None for %d
                out += [self._line(row) for row in block]
        return b"".join(out)

    def _one_by_one(self, rows: Iterable[Sequence[int | None]]) -> list[bytes]:
        lines = []
        for row in rows:
            try:
                lines.append(self._percent % tuple(row))
            except TypeError:  # as in plain()
                lines.append(self._line(row))
        return lines

    def _line(self, row: Sequence[int | None]) -> bytes:
        cells = map(_cell, self.columns, row)
        return b"".join(chain.from_iterable(zip(self.pieces, [*cells, b""], strict=True)))

    def lines(self, columns: Sequence[Integers | Maybe]) -> Iterator[memoryview | bytes]:
        """The lines of columns (int64, shape (rows,), or Maybe), in pieces. A piece is valid until the next one."""
        return (piece for piece, _ in self._pieces(columns))

    def spans(self, columns: Sequence[Integers | Maybe]) -> Spans:
        """The same lines as a column of strings, packed."""
        import numpy as np

        from kidx.text.spans import Spans

        length = np.empty(len(_values(columns[0])), np.int64)
        done, data = 0, bytearray()
        for piece, lengths in self._pieces(columns):
            rows = len(piece) // lengths if isinstance(lengths, int) else len(lengths)
            length[done : done + rows] = lengths
            done += rows
            data += piece
        return Spans(np.frombuffer(data, np.uint8), length.cumsum() - length, length)

    def _pieces(self, columns: Sequence[Integers | Maybe]) -> Iterator[tuple[memoryview | bytes, int | Integers]]:
        """The lines in pieces, each with the lengths of its lines, or the one that they all have."""
        rows = len(_values(columns[0]))
        for start in range(0, rows, _BLOCK_ROWS):
            block = [_part(c, slice(start, start + _BLOCK_ROWS)) for c in columns]
            yield from self._block(block, min(_BLOCK_ROWS, rows - start))

    def _block(self, block: list[Integers | Maybe], rows: int) -> Iterator[tuple[memoryview | bytes, int | Integers]]:
        import numpy as np

        shapes = [_shapes(spec, values) for spec, values in zip(self.columns, block, strict=True)]
        key = _joint_key([s for s in shapes if not isinstance(s, int)])
        changes = np.zeros(0, np.intp) if key is None else (key[1:] != key[:-1]).nonzero()[0] + 1
        if key is None or (len(changes) + 1) * _ROWS_A_GROUP * 8 <= rows:  # fill run after run, in order
            for start, end in pairwise([0, *changes.tolist(), rows]):
                shape = [_shape_at(s, start) for s in shapes]
                for at in range(start, end, _CHUNK_ROWS):
                    part = slice(at, min(at + _CHUNK_ROWS, end))
                    lines = self._fill(shape, [_part(c, part) for c in block], part.stop - at)
                    yield lines, len(lines) // (part.stop - at)
            return
        order = key.argsort(kind="stable")
        ordered = key[order]
        cuts = [0, *((ordered[1:] != ordered[:-1]).nonzero()[0] + 1).tolist(), rows]
        groups = [order[a:b] for a, b in pairwise(cuts)]
        large = [group for group in groups if len(group) >= _ROWS_A_GROUP]
        if 2 * sum(map(len, large)) < rows:
            yield self.plain(zip(*map(python_values, block), strict=True)), self._lengths(shapes, rows)
            return
        small = [group for group in groups if len(group) < _ROWS_A_GROUP]
        lengths = self._lengths(shapes, rows)
        yield self._scatter(large, np.concatenate(small) if small else order[:0], shapes, block, lengths), lengths

    def _scatter(
        self,
        groups: list[npt.NDArray[np.intp]],
        rest: npt.NDArray[np.intp],
        shapes: list[int | Shapes],
        block: list[Integers | Maybe],
        lengths: Integers,
    ) -> memoryview:
        """Fill the lines of each group, format the `rest` one by one, and put all into the order of their rows."""
        import numpy as np

        group_shapes = [[_shape_at(s, int(group[0])) for s in shapes] for group in groups]
        rest_lines = self._one_by_one(zip(*(python_values(_part(c, rest)) for c in block), strict=True))
        ends = lengths.cumsum()
        starts = ends - lengths
        out = np.empty(int(ends[-1]), np.uint8)
        for group, shape in zip(groups, group_shapes, strict=True):
            lines = self._fill(shape, [_part(c, group) for c in block], len(group))
            width = len(lines) // len(group)
            line_type = np.dtype(f"V{width}")
            # The output as overlapping items of one line each, a byte apart, so that a line can be stored anywhere.
            places = np.ndarray(len(out) - width + 1, line_type, out.data, 0, (1,))
            places[starts[group]] = np.frombuffer(lines, line_type)
        for start, line in zip(starts[rest].tolist(), rest_lines, strict=True):
            out.data[start : start + len(line)] = line
        return out.data

    def _lengths(self, shapes: list[int | Shapes], rows: int) -> Integers:
        """The number of bytes of each line."""
        import numpy as np

        lengths = np.full(rows, sum(map(len, self.pieces)), np.int64)
        for spec, shape in zip(self.columns, shapes, strict=True):
            if isinstance(shape, int):
                lengths += _width(spec, shape)
            else:
                shown = np.bincount(shape).nonzero()[0]
                widths = np.zeros(int(shown[-1]) + 1, np.int64)
                widths[shown] = [_width(spec, number) for number in shown.tolist()]
                lengths += widths[shape]
        return lengths

    def _fill(self, shapes: Sequence[int], columns: list[Integers | Maybe], rows: int) -> memoryview:
        """The lines of rows that all have the same shapes."""
        template = bytearray(self.pieces[0])
        stores: list[tuple[int, _Store]] = []  # with the byte where the number ends
        for spec, shape, values, piece in zip(self.columns, shapes, columns, self.pieces[1:], strict=True):
            if isinstance(spec, Choice):
                template += spec.texts[shape].ljust(spec.width)
            elif shape == _ABSENT:
                template += spec.absent.rjust(spec.width)
            else:
                text, more = _number(shape, _values(values))
                template += b" " * (spec.width - _width(spec._replace(width=0), shape)) + spec.before + text
                stores += [(len(template), store) for store in more]
                template += spec.after
            template += piece
        length = len(template)
        flat = self._copies(bytes(template), rows)
        for end, store in stores:
            _store_digits(flat, end - store.from_end, store.digits, store.numbers, length)
        return flat.data

    def _copies(self, template: bytes, rows: int) -> Bytes:
        """`rows` copies of a template: uint8, shape (rows * len(template),). The memory is reused for the next call."""
        import numpy as np

        size = len(template) * rows
        if len(self._room) < size:
            self._room = memoryview(bytearray(size))
        room, done = self._room, len(template)
        room[:done] = template
        while done < size:  # doubling is six times as fast as numpy's broadcasting of short rows
            more = min(done, size - done)
            room[done : done + more] = room[:more]
            done += more
        return np.frombuffer(room[:size], np.uint8)


def _percent_of(spec: Number | Choice | None) -> bytes:
    if spec is None:
        return b""
    if isinstance(spec, Number) and not spec.before and not spec.after:
        return b"%" + (b"%d" % spec.width if spec.width else b"") + b"d"
    return b"%b"  # raises TypeError for integers: then lines are formatted one by one


def _number(shape: int, values: Integers) -> tuple[bytes, list[_Store]]:
    """The template of a column's numbers, with sign, and the stores that complete it."""
    digits, negative = shape >> 1, shape & 1
    low, high = sorted(map(abs, extremes(values)))
    magnitudes = _magnitudes(values) if negative else values.view("u8")
    text, stores = _split(magnitudes, low, high, digits)
    return b"-" * negative + text, stores


def _cell(spec: Number | Choice, value: int | None) -> bytes:
    if isinstance(spec, Choice):
        return spec.texts[value or 0].ljust(spec.width)
    if value is None:
        return spec.absent.rjust(spec.width)
    return (spec.before + b"%d" % value + spec.after).rjust(spec.width)


def extremes(values: npt.NDArray[Any]) -> tuple[int, int]:
    """The smallest and the largest of an array that is not empty."""
    import numpy as np

    return int(np.minimum.reduce(values)), int(np.maximum.reduce(values))


def _values(column: Integers | Maybe) -> Integers:
    return column.values if isinstance(column, Maybe) else column


def _part(column: Integers | Maybe, rows: Any) -> Integers | Maybe:
    return column.part(rows) if isinstance(column, Maybe) else column[rows]


def python_values(column: Integers | Maybe) -> list[int | None]:
    """A column as Python integers, None for absent ones."""
    if not isinstance(column, Maybe):
        return list(column.tolist())
    pairs = zip(column.values.tolist(), column.present.tolist(), strict=True)
    return [value if present else None for value, present in pairs]


def _digits_of(number: int) -> int:
    return len(str(number))


def _shape_of(number: int) -> int:
    return 2 * _digits_of(abs(number)) + (number < 0)


def _width(spec: Number | Choice, shape: int) -> int:
    if isinstance(spec, Choice):
        return max(spec.width, len(spec.texts[shape]))
    if shape == _ABSENT:
        return max(spec.width, len(spec.absent))
    return max(spec.width, len(spec.before) + (shape >> 1) + (shape & 1) + len(spec.after))


def _shapes(spec: Number | Choice, column: Integers | Maybe) -> int | Shapes:
    """The shape of each value: one int if all are the same, else uint8 (Number) or uint16 (Choice), shape (rows,)."""
    import numpy as np

    values = _values(column)
    least, most = extremes(values)
    if isinstance(spec, Choice):
        return least if least == most else values.astype(np.uint16)
    if not isinstance(column, Maybe) or np.logical_and.reduce(column.present):
        if _shape_of(least) == _shape_of(most):
            return _shape_of(least)
        present = None
    elif not np.logical_or.reduce(column.present):
        return _ABSENT
    else:
        present = column.present
    magnitudes = _magnitudes(values)
    shapes = (values < 0).astype(np.uint8)
    fewest, largest = map(_digits_of, extremes(magnitudes))
    shapes += np.uint8(2 * fewest)
    for digits in range(fewest, largest):  # a comparison for each width is faster than a search for each row
        longer = (magnitudes >= np.uint64(10**digits)).view(np.uint8)
        shapes += longer + longer
    if present is not None:
        shapes[~present] = _ABSENT
    return shapes


def _shape_at(shape: int | Shapes, row: int) -> int:
    return shape if isinstance(shape, int) else int(shape[row])


def _joint_key(shapes: list[Any]) -> Shapes | None:
    """A number for each row, equal for equal shapes: uint16, shape (rows,); None if no column's shape varies.

    numpy sorts 16 bits in linear time. There are at most _BLOCK_ROWS different keys, so, renumbered, they always fit.
    """
    import numpy as np

    key: Any = None
    span = 1
    for shape in shapes:
        most = int(np.maximum.reduce(shape)) + 1
        key = shape.astype(np.uint32) if key is None else key * np.uint32(most) + shape
        span *= most
        if span > _BLOCK_ROWS:
            if span <= _BLOCK_ROWS << 6:
                seen = np.zeros(span, np.uint32)
                seen[key] = 1
                key = (seen.cumsum(dtype=np.uint32) - np.uint32(1))[key]
            else:  # a choice of hundreds of texts
                key = np.unique(key, return_inverse=True)[1].astype(np.uint32)
            span = int(np.maximum.reduce(key)) + 1
    return None if key is None else key.astype(np.uint16)


def _magnitudes(values: Integers) -> npt.NDArray[np.uint64]:
    """Absolute values of int64, shape (rows,), as uint64, in which that of -2^63 is correct too."""
    import numpy as np

    return np.absolute(values).view(np.uint64)


def _split(
    numbers: npt.NDArray[np.uint64], low: int, high: int, digits: int, right: int = 0
) -> tuple[bytes, list[_Store]]:
    """The template of numbers with `digits` digits between `low` and `high`, and the stores that complete it.

    `numbers` are magnitudes: uint64, shape (rows,). `right` is the number of digits that follow these.
    """
    import numpy as np

    if low == high:
        return b"%d" % low, []
    above, above_high = low // _E8, high // _E8
    if digits <= 8 or (above != above_high and high < 1 << 32):
        return b"0" * digits, [_Store(digits + right, digits, numbers.astype(np.uint32))]
    upper: Any = np.uint64(above) if above == above_high else numbers // np.uint64(_E8)
    lower = _Store(8 + right, 8, (numbers - upper * np.uint64(_E8)).astype(np.uint32))
    template, stores = _split(upper, above, above_high, digits - 8, right + 8)
    return template + b"0" * 8, [*stores, lower]


def _store_digits(flat: Bytes, at: int, digits: int, numbers: npt.NDArray[np.uint32], length: int) -> None:
    """Store the last `digits` digits of every number at byte `at` of every line of `length` bytes."""
    import numpy as np

    tables = _digit_tables()
    rows = len(numbers)
    while digits > 4:
        upper = numbers // np.uint32(10_000)
        digits -= 4
        places = np.ndarray(rows, tables[4].dtype, flat.data, at + digits, (length,))
        places[...] = tables[4].take(numbers - upper * np.uint32(10_000), mode="wrap")
        numbers = upper
    places = np.ndarray(rows, tables[digits].dtype, flat.data, at, (length,))
    places[...] = tables[digits].take(numbers, mode="wrap")


@cache
def _digit_tables() -> list[npt.NDArray[Any]]:
    """For d = 1 to 4, the last d digits of 0 to 9,999 as items of d bytes, shape (10000,). Item 0 is unused."""
    import numpy as np

    numbers = np.arange(10_000)
    texts = (numbers[:, None] // np.array([1000, 100, 10, 1]) % 10 + ord("0")).astype(np.uint8)
    types = ("u1", "u1", "<u2", "V3", "<u4")
    return [np.ascontiguousarray(texts[:, 4 - d :]).reshape(-1).view(t) if d else texts for d, t in enumerate(types)]
