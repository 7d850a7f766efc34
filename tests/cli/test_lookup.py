from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from tests.cli.schemas import documented_fields
from tests.damage import entry, set_entry
from tests.support import FIXTURES, Ran, kidx

CLEAN = FIXTURES / "kafka-4.3.1" / "clean"
OFFSETS = CLEAN / "pages13-0" / "00000000000000000000.index"
TIMES = CLEAN / "pages13-0" / "00000000000000000000.timeindex"
ABORTED = CLEAN / "txn-0" / "00000000000000000000.txnindex"


def lookup(*args: object, stdin: str = "") -> Ran:
    return kidx("lookup", *args, stdin=stdin)


def test_a_row_has_its_schema() -> None:
    (row,) = lookup(OFFSETS, 6656, "--format", "jsonl").rows
    position = entry(OFFSETS, -1)[1]
    assert list(row) == ["schema", *documented_fields("lookup", "kidx.lookup.v1")]
    assert row["schema"] == "kidx.lookup.v1" and row["file"] == str(OFFSETS) and row["kind"] == "offset_index"
    assert row["answer"] == {"offset": 6656, "position": position}
    assert row["entry"] == {"slot": 6655, "offset": 6656, "position": position, "relative_offset": 6656}
    assert row["probes"] is None and row["pages"] is None


def test_trace_pages_fills_probes_and_pages() -> None:
    standard, warm = lookup(OFFSETS, 6656, "--search", "both", "--trace-pages", "--format", "jsonl").rows
    assert (standard["search"], standard["pages"]) == ("standard", [0, 6, 9, 11, 12])
    assert (warm["search"], warm["pages"]) == ("warm", [10, 11, 12])
    first, last = warm["probes"][0], warm["probes"][-1]
    assert (first["slot"], first["pages"], first["byte_start"], first["is"]) == (5631, [10], 45048, "<")
    assert (last["slot"], last["is"]) == (6655, "=")


def test_a_straddling_entry_touches_two_pages() -> None:
    rows = lookup(TIMES, entry(TIMES, 341)[0], "--trace-pages", "--format", "jsonl").rows
    assert rows[0]["probes"][-1]["pages"] == [0, 1]


def test_the_screen_shows_the_way() -> None:
    ran = lookup(OFFSETS, 6656, "--trace-pages")
    lines = ran.out.decode().splitlines()
    assert lines[0].startswith("offset 6656 -> offset 6656, position ")
    assert "(slot 6655 of 6656, exact)" in lines[0]
    assert lines[1] == "warm-section search: 12 probes, 3 pages: 10 11 12"
    assert lines[2].split() == ["step", "slot", "bytes", "page", "entry", "compare"]
    assert lines[3].endswith("the warm section starts here") and lines[-1].endswith("found")
    assert len(lines) == 3 + 12 and max(map(len, lines)) <= 100


def test_a_target_below_all_entries_gets_the_fallback() -> None:
    (row,) = lookup(OFFSETS, -5, "--format", "jsonl").rows
    assert (row["slot"], row["entry"], row["answer"]) == (-1, None, {"offset": 0, "position": 0})
    (row,) = lookup(TIMES, 0, "--format", "jsonl").rows
    assert row["answer"] == {"timestamp": -1, "offset": 0}


def test_fetch_upper_bound_offset_is_by_value_upper() -> None:
    position = entry(OFFSETS, 100)[1]
    upper = ("--by", "value", "--bound", "upper", "--format", "jsonl")
    rows = lookup(OFFSETS, position, position + 1, 2**31, *upper).rows
    assert [row["slot"] for row in rows] == [100, 101, -1]
    assert rows[2]["answer"] is None


def test_times_are_milliseconds_or_iso() -> None:
    first = entry(TIMES, 0)[0]
    iso = lookup(TIMES, first, "--iso", "--format", "jsonl").rows[0]["target_iso"]
    assert lookup(TIMES, iso, "--format", "jsonl").rows[0]["slot"] == 0
    assert lookup(TIMES, "2099-01-01", "--format", "jsonl").rows[0]["slot"] == 6655
    by_offset = lookup(TIMES, 5, "--by", "value", "--format", "jsonl").rows[0]
    assert by_offset["answer"]["offset"] == 5


def test_many_targets_come_from_standard_input_and_files(tmp_path: Path) -> None:
    listed = tmp_path / "targets"
    listed.write_text("1\n\n 2 \n")
    rows = lookup(OFFSETS, 9, "-", "--from-file", listed, "--format", "jsonl", stdin="7\n8\n").rows
    assert [row["target"] for row in rows] == [9, 7, 8, 1, 2]
    many = lookup(OFFSETS, "-", "--format", "jsonl", stdin="".join(f"{n}\n" for n in range(20000))).rows
    assert [row["answer"]["offset"] for row in many] == [min(n, 6656) for n in range(20000)]


def test_no_targets_on_standard_input_is_no_error() -> None:
    ran = lookup(OFFSETS, "-", stdin="")
    assert (ran.status, ran.out) == (0, b"")


def test_aborted_transactions() -> None:
    (row,) = lookup(ABORTED, "--fetch-from", 0, "--fetch-to", 40, "--format", "jsonl").rows
    assert row["schema"] == "kidx.aborted_lookup.v1"
    assert list(row) == ["schema", *documented_fields("lookup", "kidx.aborted_lookup.v1")]
    text = lookup(ABORTED, "--fetch-from", 0, "--fetch-to", 10**9).out.decode()
    assert "aborted transactions" in text and "incomplete" in text


def test_only_valid_entries_are_searched(tmp_path: Path) -> None:
    copy = tmp_path / OFFSETS.name
    copy.write_bytes(OFFSETS.read_bytes()[: 8 * 100] + b"\0" * 8 * 1000)
    (row,) = lookup(copy, 10**6, "--format", "jsonl").rows
    assert (row["slot"], row["entries"]) == (99, 100)


def test_torn_bytes_are_said(tmp_path: Path) -> None:
    copy = tmp_path / OFFSETS.name
    copy.write_bytes(OFFSETS.read_bytes()[: 8 * 100 + 3])
    ran = lookup(copy, 10**6, "--format", "jsonl")
    assert ran.rows[0]["slot"] == 99 and ran.status == 0
    assert b"last 3 bytes are no whole entry (torn)" in ran.err


def test_a_disordered_index_is_searched_as_kafka_would(tmp_path: Path) -> None:
    copy = Path(shutil.copy(OFFSETS, tmp_path))
    set_entry(copy, 3328, 1, 1)
    ran = lookup(copy, 2000, "--search", "standard", "--format", "jsonl")
    assert ran.rows[0]["slot"] >= 3328  # misled by the broken entry, as the broker's own search is


def test_an_empty_index(tmp_path: Path) -> None:
    empty = tmp_path / "00000000000000000042.index"
    empty.touch()
    (row,) = lookup(empty, 50, "--trace-pages", "--format", "jsonl").rows
    assert (row["slot"], row["answer"], row["probes"], row["pages"]) == (-1, {"offset": 42, "position": 0}, [], [])
    assert b"no entries" in lookup(empty, 50).out


def test_a_file_without_a_telling_name(tmp_path: Path) -> None:
    copy = tmp_path / "evidence.bin"
    shutil.copy(OFFSETS, copy)
    assert lookup(copy, 5).status == 2
    assert lookup(copy, 5, "--kind", "offset_index").status == 2
    (row,) = lookup(copy, 1005, "--kind", "offset_index", "--base-offset", 1000, "--format", "jsonl").rows
    assert row["answer"]["offset"] == 1005
    assert b"no base offset" in lookup(copy, 5, "--kind", "offset_index").err


@pytest.mark.parametrize("form", ["text", "table", "json", "jsonl", "csv"])
def test_every_format_answers(form: str) -> None:
    ran = lookup(OFFSETS, 5, 6, "--trace-pages", "--format", form)
    assert ran.status == 0 and ran.out and not ran.err


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        ([OFFSETS], 2, "no target given"),
        ([OFFSETS, "abc"], 2, "'abc' is not an offset"),
        ([OFFSETS, 2**63], 2, "64 bits"),
        ([OFFSETS, "--serach", "warm"], 2, "--serach"),
        ([TIMES, "someday"], 2, "ISO 8601"),
        ([OFFSETS, 5, "--fetch-from", 1], 2, "transaction index"),
        ([ABORTED, 5], 2, "--fetch-from"),
        ([ABORTED, "--fetch-from", 5], 2, "--fetch-to"),
        (["missing.index", 5, "--base-offset", 0], 3, "no such file"),
        ([CLEAN / "pages13-0" / "leader-epoch-checkpoint", 5], 2, "not an index"),
        ([OFFSETS, "--from-file", "nowhere"], 3, "nowhere: no such file"),
        (["-", "-", "--kind", "offset_index", "--base-offset", 0], 2, "cannot be both"),
    ],
)
def test_refusals(args: list[object], status: int, said: str) -> None:
    ran = lookup(*args)
    assert (ran.status, ran.out) == (status, b"")
    assert said in ran.err.decode() and b"Traceback" not in ran.err


def test_an_index_on_standard_input() -> None:
    ran = kidx("lookup", "-", 5, "--kind", "offset_index", "--base-offset", 0, stdin=OFFSETS.read_bytes())
    assert ran.out.startswith(b"offset 5 -> offset 5, position")


def test_both_searches_are_told_apart_on_the_screen() -> None:
    standard, warm = lookup(OFFSETS, 5, "--search", "both").out.decode().splitlines()
    assert standard.endswith("exact; standard search)") and warm.endswith("exact)")


def test_a_bad_line_is_named() -> None:
    ran = lookup(OFFSETS, "-", stdin="1\n2\nx\n")
    assert ran.status == 2 and b"-, line 3: 'x' is not an offset" in ran.err


@pytest.mark.parametrize("by", ["key", "value"])
@pytest.mark.parametrize("bound", ["lower", "upper"])
def test_many_targets_are_answered_as_single_ones(by: str, bound: str) -> None:
    targets = [n * 37 for n in range(3000)]
    options = ("--by", by, "--bound", bound, "--search", "both", "--format", "jsonl")
    many = lookup(OFFSETS, "-", *options, stdin="".join(f"{n}\n" for n in targets)).rows
    few = [row for part in (targets[:1500], targets[1500:]) for row in lookup(OFFSETS, *part, *options).rows]
    assert many == few


def test_offsets_past_the_largest_wrap_as_javas_do(tmp_path: Path) -> None:
    """Few targets are searched entry by entry, many in arrays: both add as Kafka's classes do."""
    base = 2**63 - 4
    path = tmp_path / f"{base}.index".zfill(26)
    path.write_bytes(b"".join(struct.pack(">ii", n, 10 * n) for n in (4, 5, 9)))
    for targets in (["7"], ["7"] * 100):
        for row in kidx("lookup", path, "--format", "jsonl", *targets).rows:
            assert row["entry"] == {"slot": 2, "offset": -(2**63) + 5, "position": 90, "relative_offset": 9}
    stat = kidx("stat", path, "--format", "jsonl").rows[0]
    dumped = [row["offset"] for row in kidx("dump", path, "--format", "jsonl").rows]
    assert (stat["first_offset"], stat["last_offset"]) == (dumped[0], dumped[-1]) == (-(2**63), -(2**63) + 5)
