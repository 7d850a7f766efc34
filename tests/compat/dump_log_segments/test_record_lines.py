"""Records' lines made from columns: the same bytes as made one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.compat.dump_log_segments import logs, record_lines
from kidx.compat.dump_log_segments.java import text
from kidx.compat.dump_log_segments.logs import LogLines
from kidx.compat.dump_log_segments.record_line import contents_of, record_line
from kidx.evidence import from_bytes
from tests.building import batch, record
from tests.text.test_spans import STRING

TEXT = st.none() | STRING
ROWS = st.lists(st.tuples(TEXT, TEXT, st.lists(st.tuples(STRING, st.none()), max_size=2)), max_size=6)


@pytest.mark.parametrize("metadata", (True, False))
@pytest.mark.parametrize("contents", (True, False))
@given(st.lists(st.tuples(ROWS, st.sampled_from([0, 0x20, 8])), min_size=1, max_size=6))
def test_as_one_by_one(metadata: bool, contents: bool, batches: list[object]) -> None:
    data = b""
    for number, (rows, attributes) in enumerate(batches):  # type: ignore[misc]
        records = [record(n, 0, *row) for n, row in enumerate(rows)]
        data += batch(records, base_offset=100 * number, attributes=attributes, last_offset_delta=len(rows))
    log, printed = from_bytes(data), contents_of(None, contents)
    seen: list[int] = []
    lines = LogLines(log, log.size)
    out = b"".join(map(bytes, lines.records(metadata, printed, seen.extend)))
    wanted, offsets = b"", []
    for found, entry, line in LogLines(log, log.size)._one_by_one():
        wanted += line
        for one in logs.RecordReader(found, entry[61:], lenient=True):
            wanted += record_line(found, one, metadata, printed)
            offsets.append(one.offset)
    assert out == wanted
    assert seen == offsets


@given(st.lists(STRING).map(b"".join), st.integers(5, 40))
def test_text_in_pieces_is_as_java_prints_it(data: bytes, piece_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_lines, "_PIECE_BYTES", piece_bytes)
        printed = b"".join(map(bytes, record_lines.java_text(memoryview(data))))
    assert printed == text(data).encode()
