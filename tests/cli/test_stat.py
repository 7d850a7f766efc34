from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.schemas import documented_fields
from tests.support import FIXTURES, kidx

SET = FIXTURES / "kafka-4.3.1"
PAGES14 = SET / "clean" / "pages14-0" / "00000000000000000000.index"


def test_one_index_on_one_screen() -> None:
    text = kidx("stat", PAGES14).out.decode()
    for said in (
        "7,168 of 7,168 that fit into the file, 0 free",
        "56.0 KiB (57,344 bytes)",
        "1 to 7168, an entry every 1 offsets",
        "14 of 4 KiB, 512 entries each",
        "slots 6143 to 7167, from page 11 on",
    ):
        assert said in text
    assert max(map(len, text.splitlines()[1:])) <= 80


def test_a_row_has_the_documented_fields() -> None:
    (row,) = kidx("stat", PAGES14, "--format", "jsonl").rows
    assert ["schema", *documented_fields("trace", "kidx.stat.v1")] == list(row)
    assert (row["entries"], row["slack"], row["pages"], row["warm_from_slot"]) == (7168, 0, 14, 6143)


def test_preallocated_and_torn_bytes_are_told_apart(tmp_path: Path) -> None:
    copy = tmp_path / "00000000000000000100.timeindex"
    source = PAGES14.with_suffix(".timeindex").read_bytes()
    copy.write_bytes(source[:120] + b"\0" * 1200 + b"\0\0\0\0\0")
    (row,) = kidx("stat", copy, "--format", "jsonl").rows
    assert (row["entries"], row["capacity"], row["slack"]) == (10, 110, 100)
    assert (row["zero_tail_bytes"], row["torn_bytes"], row["size_bytes"]) == (1200, 5, 1325)
    assert row["first_offset"] == 101
    text = kidx("stat", copy).out.decode()
    assert "zero tail" in text and "an incomplete last entry, 5 bytes" in text


def test_a_directory_is_a_table() -> None:
    text = kidx("stat", SET / "live").out.decode()
    lines = text.splitlines()
    assert str(SET / "live" / "txn-0") in lines and "offset.deleted" in text
    assert "of it zero tails" in lines[-1]
    assert max(len(line) for line in lines if not line.startswith(str(SET))) <= 80


def test_rows_sort_by_any_field() -> None:
    rows = kidx("stat", SET / "live", "--sort", "entries", "--reverse", "--format", "jsonl").rows
    entries = [row["entries"] for row in rows]
    assert entries == sorted(entries, reverse=True) and len(rows) == 25
    by_time = kidx("stat", SET / "live", "--sort", "first_timestamp", "--format", "jsonl").rows
    assert by_time[0]["first_timestamp"] is not None and by_time[-1]["first_timestamp"] is None


def test_only_the_ends_are_read(tmp_path: Path) -> None:
    """A trimmed index of 8 MiB: one piece at its end, and the first entry."""
    large = tmp_path / PAGES14.name
    large.write_bytes(b"".join(n.to_bytes(4) + n.to_bytes(4) for n in range(1, 2**20 + 1)))
    from kidx.evidence import Evidence, open_evidence
    from kidx.formats.indexes import OFFSET_INDEX
    from kidx.lookup.index_measures import measure

    read: list[int] = []

    class Counting(Evidence):
        def read(self, position: int, length: int) -> bytes:
            read.append(length)
            return super().read(position, length)

    with open_evidence(str(large)) as opened:
        counting = Counting(opened.path, os.dup(opened.fileno()), opened.size, opened.mtime_ns)
        with counting:
            assert measure(counting, OFFSET_INDEX, 0).entries == 2**20
    assert sum(read) <= 32768


def test_one_bad_file_does_not_stop_the_rest(tmp_path: Path) -> None:
    shutil.copy(PAGES14, tmp_path)
    ran = kidx("stat", tmp_path / "missing.index", tmp_path / PAGES14.name, "--format", "jsonl")
    assert (ran.status, len(ran.rows)) == (3, 1)
    assert b"missing.index: no such file" in ran.err


def test_standard_input() -> None:
    ran = kidx(
        "stat", "-", "--kind", "offset_index", "--base-offset", 7, "--format", "jsonl", stdin=PAGES14.read_bytes()
    )
    assert ran.rows[0]["last_offset"] == 7175


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "no path given"),
        ([PAGES14, "--sort", "size"], "is not one of file,"),
        ([PAGES14.with_suffix(".log")], "not an index"),
        (["-"], "--kind"),
    ],
)
def test_refusals(args: list[object], said: str) -> None:
    ran = kidx("stat", *args)
    assert ran.status == 2 and said in ran.err.decode()
