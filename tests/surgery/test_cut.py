"""truncateTo, trimToValidSize and resize: Kafka's recorded answers, and what is refused."""

from __future__ import annotations

import pytest

from kidx.errors import Refused, UsageError
from kidx.evidence import from_bytes
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX
from kidx.surgery.cut import plan_resize, plan_trim, plan_truncate
from kidx.surgery.index_file import IndexFile
from tests.surgery.support import bytes_of
from tests.surgery.test_append import WRITES, packed

TWO = packed("append", (1, 10), (2, 20))


def index_of(data: bytes, index_format=OFFSET_INDEX, base: int = 0) -> IndexFile:
    return IndexFile("x", index_format, base, from_bytes(data))


def test_recorded_answers_of_kafkas_classes() -> None:
    rows = [row for row in WRITES if row["operation"] == "truncate"]
    assert len(rows) > 50
    for row in rows:
        after, _, kind = row["file_after"].partition(" ")
        index_format = TIME_INDEX if kind == "time" else OFFSET_INDEX
        index = index_of(bytes.fromhex(row["entries_or_file_before"]), index_format, int(row["base"]))
        assert bytes_of(plan_truncate(index, int(row["max_index_size_or_offset"])).after) == bytes.fromhex(after), row


@pytest.mark.parametrize(("offset", "left"), [(0, 0), (1, 0), (2, 1), (3, 2), (2**62, 2)])
@pytest.mark.parametrize("tail", [0, 16])
def test_truncate_trims_unless_told(offset: int, left: int, tail: int) -> None:
    index = index_of(TWO + bytes(tail))
    assert bytes_of(plan_truncate(index, offset).after) == TWO[: left * 8]
    assert bytes_of(plan_truncate(index, offset, keep_allocated=True).after) == TWO[: left * 8].ljust(16 + tail, b"\0")


@pytest.mark.parametrize(("offset", "left"), [(5, 0), (6, 1), (9, 1), (10, 2)])
def test_truncate_transactions_by_their_last_offset(offset: int, left: int) -> None:
    data = packed("txn", (0, 7, 1, 5, 6), (0, 8, 2, 9, 10))
    assert (
        bytes_of(plan_truncate(index_of(data, TRANSACTION_INDEX), offset, keep_allocated=True).after)
        == data[: left * 34]
    )


def test_truncate_refuses_disorder_and_torn_files() -> None:
    with pytest.raises(Refused, match="entry 1 is out of order"):
        plan_truncate(index_of(packed("append", (2, 10), (1, 20))), 2)
    with pytest.raises(Refused, match="entry 2 is out of order"):
        plan_truncate(index_of(packed("tappend", (2, 10), (3, 20), (4, 19)), TIME_INDEX), 2)
    with pytest.raises(Refused, match="torn"):
        plan_truncate(index_of(TWO + b"\1"), 2)


def test_trim() -> None:
    assert bytes_of(plan_trim(index_of(TWO + bytes(80))).after) == TWO
    assert not plan_trim(index_of(TWO)).changes
    assert bytes_of(plan_trim(index_of(bytes(80))).after) == b""
    with pytest.raises(Refused, match="--torn"):
        plan_trim(index_of(TWO + bytes(7)))
    assert bytes_of(plan_trim(index_of(TWO + bytes(7)), torn=True).after) == TWO


def test_resize() -> None:
    assert bytes_of(plan_resize(index_of(TWO), 39).after) == TWO + bytes(16)
    assert bytes_of(plan_resize(index_of(TWO + bytes(80)), 16).after) == TWO
    assert bytes_of(plan_resize(index_of(b""), 0).after) == b""
    with pytest.raises(Refused, match="2 entries take 16 bytes, more than 8"):
        plan_resize(index_of(TWO), 15)
    with pytest.raises(Refused, match="torn"):
        plan_resize(index_of(TWO + b"\1"), 80)
    with pytest.raises(UsageError, match="grows with its entries"):
        plan_resize(index_of(b"", TRANSACTION_INDEX), 80)
