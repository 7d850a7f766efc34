"""The lines of many records at once, made from columns: the same bytes as record_line makes one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from kidx.compat.dump_log_segments.line_forms import TIMESTAMP_TYPES
from kidx.compat.dump_log_segments.record_line import Contents, control_text, plain_texts
from kidx.formats.control import parse_control
from kidx.formats.records import Record
from kidx.segments.record_columns import RecordColumns
from kidx.text.integer_text import Choice, LineForm, Number
from kidx.text.spans import Spans, chosen, grouped, joined, spans_of

_METADATA = LineForm(
    [b"| offset: ", b" ", b": ", b" keySize: ", b" valueSize: ", b" sequence: ", b" headerKeys: ["],
    [Number(), Choice(tuple(map(str.encode, TIMESTAMP_TYPES))), Number(), Number(), Number(), Number()],
)
_PIECE_BYTES = 1 << 20
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")  # encoded, or its beginning


class RecordLines:
    """The form of records' lines; parameters as those of record_line."""

    def __init__(self, metadata: bool, contents: Contents | None) -> None:
        self._metadata, self._contents = metadata, contents

    def lines(self, block: RecordColumns, before: Spans) -> Iterator[bytes | memoryview]:
        """The lines of a block's records, all of format 2; before each, the text that `before` has in its row."""
        parts: list[Spans | bytes] = [before]
        if self._metadata:
            parts += [*_metadata(block), self._control(block)]
        if self._contents is not None:
            parts += self._contents_of(block)
        return java_text(joined([*parts, b"\n"]).data.data)

    def _control(self, block: RecordColumns) -> Spans | bytes:
        rows = np.flatnonzero(block.window.control[block.batch])
        if not len(rows):
            return b""
        texts = [b""] * len(block)
        pairs = zip(block.key.part(rows).tolist(), block.value.part(rows).tolist(), strict=True)
        for row, pair in zip(rows.tolist(), pairs, strict=True):
            control = parse_control(*pair)
            texts[row] = control_text(control).encode() if control else b""
        return spans_of(texts)

    def _contents_of(self, block: RecordColumns) -> list[Spans | bytes]:
        control = block.window.control[block.batch]
        if self._contents is plain_texts:
            key, value = block.key, block.value
        else:
            key, value = self._decoded(block)
        if control.any():
            key, value = (Spans(s.data, s.start, np.where(control, -1, s.length)) for s in (key, value))
        first, later = (b" ", b" ") if self._metadata else (b"| ", b" ")
        keyed = key.present.astype(np.int64)
        labels = chosen([b"", first + b"payload: ", later + b"payload: "], np.where(value.present, 1 + keyed, 0))
        return [chosen([b"", first + b"key: "], keyed), key, labels, value]

    def _decoded(self, block: RecordColumns) -> tuple[Spans, Spans]:
        assert self._contents is not None
        texts: list[tuple[str | None, str | None]] = []
        columns = (block.offset.tolist(), block.timestamp.tolist(), block.key.tolist(), block.value.tolist())
        of_batch = block.window.control[block.batch].tolist()
        for is_control, *fields in zip(of_batch, *columns, strict=True):
            texts.append((None, None) if is_control else self._contents(Record(*fields)))
        keys, values = ([None if t is None else t.encode() for t in column] for column in zip(*texts, strict=True))
        return spans_of(keys), spans_of(values)


def _metadata(block: RecordColumns) -> list[Spans | bytes]:
    numbers = [block.offset, block.column("timestamp_type"), block.timestamp]
    sizes = [np.maximum(spans.length, -1) for spans in (block.key, block.value)]
    parts: list[Spans | bytes] = [_METADATA.spans([*numbers, *sizes, block.column("sequence")])]
    counts = block.header_count
    if counts.any():
        names = block.headers.key
        number = np.arange(len(names)) - np.repeat(counts.cumsum() - counts, counts)
        commas = chosen([b"", b","], np.minimum(number, 1))
        parts.append(grouped(joined([commas, names]), counts))
    return [*parts, b"]"]


def java_text(data: memoryview) -> Iterator[bytes | memoryview]:
    """Bytes as Java prints them once it has read them as UTF-8: what is not UTF-8 is replaced. In pieces."""
    at = 0
    while at < len(data):
        end = min(at + _PIECE_BYTES, len(data))
        while end < len(data) and end > at + _PIECE_BYTES - 4 and data[end] & 0xC0 == 0x80:
            end -= 1  # not within a character
        piece = data[at:end]
        try:
            str(piece, "utf-8")
        except UnicodeDecodeError:
            bad = bytes(piece)
            if b"\xed" in bad:
                bad = _SURROGATE.sub(b"\xff", bad)  # one replacement each, as kidx.formats.text has it
            piece = memoryview(bad.decode("utf-8", "replace").encode())
        yield piece
        at = end
