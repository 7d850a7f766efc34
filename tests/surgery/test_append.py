"""Appending as Kafka's classes do: their recorded answers row for row, and each refusal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.errors import CannotRead, Refused, UsageError
from kidx.evidence import Evidence, from_bytes
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX
from kidx.surgery.append import parse_entry, plan_append
from kidx.surgery.index_file import IndexFile, load_index
from kidx.surgery.read_entries import entries_from_lines
from tests.damage import append_garbage, swap_entries, zero_tail
from tests.support import KAFKA_SETS, answers
from tests.surgery.support import bytes_of

WRITES = [row for fixture_set in KAFKA_SETS for row in answers(fixture_set, "writes.tsv")]
APPENDS = [row for row in WRITES if row["operation"] in ("append", "tappend")]


def new_index(kind: str, base: int = 0, data: bytes | None = None) -> IndexFile:
    name = f"{base:020d}{'.index' if kind == 'append' else '.timeindex' if kind == 'tappend' else '.txnindex'}"
    return IndexFile(
        name, {"append": OFFSET_INDEX, "tappend": TIME_INDEX}.get(kind) or load_format(name), base, data_of(data)
    )


def data_of(data: bytes | None) -> Evidence | None:
    return None if data is None else from_bytes(data)


def load_format(name: str):
    from kidx.logdir.names import index_format_of

    return index_format_of(name)


def packed(kind: str, *entries: tuple[int, ...]) -> bytes:
    index = new_index(kind)
    return b"".join(index.format.struct.pack(*entry) for entry in entries)


def appended(index: IndexFile, *texts: str, **options) -> bytes | None:
    return bytes_of(plan_append(index, [parse_entry(index, text) for text in texts], **options).after)


def test_recorded_answers_of_kafkas_classes() -> None:
    assert len(APPENDS) > 200
    for row in APPENDS:
        index = new_index(row["operation"], int(row["base"]))
        texts, size = row["entries_or_file_before"].split(","), int(row["max_index_size_or_offset"])
        if "ok" in row["answer"].split():
            assert appended(index, *texts, max_index_size=size) == bytes.fromhex(row["file_after"]), row
        else:
            with pytest.raises(Refused):
                appended(index, *texts, max_index_size=size)


@pytest.mark.parametrize(
    ("kind", "entries", "words"),
    [
        ("append", ["1:1", "1:2"], "offset 1 is not after the last one, 1 (wrong order)"),
        ("append", ["2147483647:0", "2147483648:0"], "only 0 to 2147483647 fits (overflow)"),
        ("append", ["5:-1"], "position -1 does not fit"),
        ("append", ["5:2147483648"], "position 2147483648 does not fit"),
        ("append", ["1:1", "2:2", "3:3", "4:4"], "the index is full with 3 entries"),
        ("tappend", ["5:5", "6:4"], "offset 4 is before the last one, 5 (wrong order)"),
        ("tappend", ["5:5", "4:6"], "timestamp 4 is before the last one, 5 (wrong order)"),
        ("tappend", ["5:2147483648"], "(overflow)"),
        ("tappend", [f"{2**63}:5"], "does not fit 64 bits"),
        ("tappend", ["1:1", "2:2", "3:3"], "its last slot is kept for the roll"),
        ("txn", ["7:1:5:6", "8:2:5:6"], "last offset 5 is not after the one before, 5 (wrong order)"),
        ("tappend", ["7:-1"], "offset -1 is -1 from the base offset 0"),
        *(
            ("txn", [entry], "a number does not fit 64 bits (overflow)")
            for entry in (
                f"{2**63}:1:5:6",
                f"{-(2**63) - 1}:1:5:6",
                f"7:{2**63}:5:6",
                f"7:1:{2**63}:6",
                f"7:1:5:{2**63}",
            )
        ),
    ],
)
def test_refusals(kind: str, entries: list[str], words: str) -> None:
    options = {} if kind == "txn" else {"max_index_size": 24 if kind == "append" else 36}
    with pytest.raises(Refused) as refusal:
        appended(new_index(kind), *entries, **options)
    assert words in str(refusal.value) and "nothing was written" in str(refusal.value)


def test_the_largest_numbers_that_fit() -> None:
    whole = new_index("append", 2**62), new_index("tappend")
    assert appended(whole[0], f"{2**62 + 2**31 - 1}:{2**31 - 1}", max_index_size=8) == packed(
        "append", (2**31 - 1, 2**31 - 1)
    )
    assert appended(whole[1], f"{2**63 - 1}:{2**31 - 1}", max_index_size=24) == packed(
        "tappend", (2**63 - 1, 2**31 - 1)
    )


def test_the_numbers_of_a_transaction_may_be_any_int64() -> None:
    least, most = -(2**63), 2**63 - 1
    for entry in ((least, least, most, least), (most, most, 0, most), (0, 0, 100, 0)):
        text = ":".join(map(str, entry))
        assert appended(new_index("txn"), text) == packed("txn", (0, *entry))
    assert appended(new_index("txn", base=100), "7:1:100:6") == packed("txn", (0, 7, 1, 100, 6))
    with pytest.raises(Refused, match="last offset 99 is before the base offset 100"):
        appended(new_index("txn", base=100), "7:1:99:6")


def test_every_entry_of_a_stream_is_held_against_the_one_before() -> None:
    with pytest.raises(Refused, match="last offset 5 is not after the one before, 6"):
        appended(new_index("txn"), "7:1:6:6", "7:1:5:6")
    with pytest.raises(Refused, match=r"entry 2:15: offset 2 is not after the last one, 3"):
        appended(new_index("append"), "1:10", "3:20", "2:15")
    with pytest.raises(Refused, match="offset 4 is before the last one, 5"):
        appended(new_index("tappend", data=packed("tappend", (5, 5)) + bytes(36)), "6:4")


def test_equal_timestamp_is_ignored_and_an_empty_index_begins_at_minus_one() -> None:
    assert appended(new_index("tappend"), "-1:0", "5:1", "5:2", "6:2", max_index_size=48) == packed(
        "tappend", (5, 1), (6, 2)
    )


def test_last_slot_of_a_time_index_on_a_roll() -> None:
    data = packed("tappend", (1, 1), (2, 2))
    assert appended(new_index("tappend"), "1:1", "2:2", max_index_size=30, on_roll=True) == data
    with pytest.raises(Refused, match="full"):
        appended(new_index("tappend"), "1:1", "2:2", "3:3", max_index_size=30, on_roll=True)


def test_entries_go_after_the_last_one_of_a_preallocated_file() -> None:
    data = packed("append", (1, 10)) + bytes(24)
    assert appended(new_index("append", data=data), "2:20") == packed("append", (1, 10), (2, 20)) + bytes(16)


def test_a_trimmed_file_is_full_until_it_is_given_room() -> None:
    data = packed("append", (1, 10))
    with pytest.raises(Refused, match="full"):
        appended(new_index("append", data=data), "2:20")
    grown = packed("append", (1, 10), (2, 20))
    assert appended(new_index("append", data=data), "2:20", max_index_size=33) == grown
    assert appended(new_index("append", data=data), "2:20", max_index_size=33, keep_allocated=True) == grown + bytes(16)
    with pytest.raises(Refused, match="holds no entry"):
        appended(new_index("append", data=data), "2:20", max_index_size=7)
    with pytest.raises(Refused, match="2 entries of 8 bytes do not fit 15 bytes"):
        appended(new_index("append", data=grown), "3:30", max_index_size=15)


def test_transactions() -> None:
    one = appended(new_index("txn"), "7:1:5:6")
    assert one == packed("txn", (0, 7, 1, 5, 6))
    assert appended(new_index("txn", data=one), "-2:3:9:10") == packed("txn", (0, 7, 1, 5, 6), (0, -2, 3, 9, 10))
    with pytest.raises(Refused, match="not after the one before"):
        appended(new_index("txn", data=one), "7:1:5:6")
    with pytest.raises(Refused, match="before the base offset 100"):
        appended(new_index("txn", base=100), "7:1:5:6")


def test_damaged_files_are_not_added_to(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.index"
    path.write_bytes(packed("append", (1, 10), (2, 20), (3, 30)))
    zero_tail(path, 80)
    swap_entries(path, 0, 1)
    with pytest.raises(Refused, match="entry 1 is out of order"):
        appended(load_index(str(path)), "4:40")
    append_garbage(path, b"\1")
    with pytest.raises(Refused, match="torn: its last 1 bytes"):
        appended(load_index(str(path)), "4:40")
    with pytest.raises(CannotRead, match="no such file"):
        load_index(str(tmp_path / f"{1:020d}.index"))


@pytest.mark.parametrize("text", ["1", "1:2:3", "a:1", "1:", "1:٣", "1.5:2"])
def test_entries_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="OFFSET:POSITION is wanted"):
        parse_entry(new_index("append"), text)


def test_streams() -> None:
    index = new_index("append")
    lines = [
        '{"schema":"kidx.offset_entry.v1","slot":0,"offset":1,"relative_offset":1,"position":10}',
        "",
        '{"offset":2,"position":20}',
    ]
    assert list(entries_from_lines(index, lines, "-")) == [(1, 10), (2, 20)]
    text = "slot,offset,relative_offset,position\n0,1,1,10\n1,2,2,20\n"
    assert list(entries_from_lines(index, io.StringIO(text), "-")) == [(1, 10), (2, 20)]
    assert list(entries_from_lines(index, [], "-")) == []


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["{"], "line 1: not JSON"),
        (['{"offset":' + "[" * 100_000], "line 1: not JSON"),
        (['{"offset":1,"position":1}', "[]"], "line 2: not a JSON object"),
        (
            ['{"schema":"kidx.time_entry.v1","timestamp":1,"offset":1}'],
            "kidx.time_entry.v1 is no entry for this offset index",
        ),
        (['{"offset":1}'], "position is not a whole number"),
        (['{"offset":true,"position":1}'], "offset is not a whole number"),
        (["offset,position", "1,x"], "line 2: position is not a whole number"),
        (["offset,position", "1,²"], "line 2: position is not a whole number"),
        (["offset,position", "1,--2"], "line 2: position is not a whole number"),
    ],
)
def test_streams_that_hold_no_entries(lines: list[str], words: str) -> None:
    with pytest.raises(UsageError) as refusal:
        list(entries_from_lines(new_index("append"), lines, "-"))
    assert words in str(refusal.value)


@given(st.lists(st.tuples(st.integers(-1, 6), st.integers(-1, 6)), max_size=6), st.integers(12, 60))
def test_time_index_against_its_rules_one_by_one(entries: list[tuple[int, int]], size: int) -> None:
    """Kafka's maybeAppend as it reads, line by line."""
    kept: list[tuple[int, int]] = []
    allowed = True
    for timestamp, offset in entries:
        last = kept[-1] if kept else (-1, 0)
        full = len(kept) >= size // 12 - 1
        backward = bool(kept) and (offset < last[1] or timestamp < last[0])
        overflow = timestamp > last[0] and offset < 0
        if full or backward or overflow:
            allowed = False
            break
        if timestamp > last[0]:
            kept.append((timestamp, offset))
    index = new_index("tappend")
    if allowed:
        assert bytes_of(plan_append(index, entries, max_index_size=size).after) == packed("tappend", *kept)
    else:
        with pytest.raises(Refused):
            plan_append(index, entries, max_index_size=size)


def test_a_maximum_that_the_entries_just_fill_is_large_enough() -> None:
    data = packed("append", (1, 1), (2, 2), (3, 3))
    assert appended(new_index("append", data=data), max_index_size=24) == data
    with pytest.raises(Refused, match="3 entries of 8 bytes do not fit 23 bytes"):
        appended(new_index("append", data=data), max_index_size=23)
