"""kidx dump of index files: every state, every format, every way to choose rows."""

from __future__ import annotations

import csv
import io
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from kidx.tables import index_entries as indexes
from tests.damage import append_garbage, shrink, zero_tail
from tests.support import FIXTURES, kidx, kidx_here

TXN = FIXTURES / "kafka-4.3.1/clean/txn-0"
NAME = "00000000000000000227"
INDEX, TIMES, ABORTED = (TXN / f"{NAME}{suffix}" for suffix in (".index", ".timeindex", ".txnindex"))


def rows(*args: object) -> list[dict[str, Any]]:
    ran = kidx_here("dump", "--format", "jsonl", *args)
    assert ran.status == 0, ran.err
    return ran.rows


def entries(path: Path, form: str) -> list[tuple[int, ...]]:
    data = path.read_bytes()
    return list(struct.iter_unpack(form, data[: len(data) // struct.calcsize(form) * struct.calcsize(form)]))


def test_rows_are_the_interface() -> None:
    schema = {"schema": "kidx.offset_entry.v1", "file": str(INDEX)}
    assert rows(INDEX) == [
        {**schema, "slot": i, "offset": 227 + relative, "relative_offset": relative, "position": position}
        for i, (relative, position) in enumerate(entries(INDEX, ">ii"))
    ]
    assert [list(row)[2:] for row in rows(TIMES)[:1]] == [["slot", "timestamp", "offset", "relative_offset"]]
    fields = ["slot", "version", "producer_id", "first_offset", "last_offset", "last_stable_offset"]
    assert [list(row)[2:] for row in rows(ABORTED)[:1]] == [fields]
    assert [tuple(row[f] for f in fields[1:]) for row in rows(ABORTED)] == entries(ABORTED, ">hqqqq")


@pytest.mark.parametrize("path", [INDEX, TIMES, ABORTED], ids=lambda p: p.suffix)
def test_every_format_has_the_same_rows(path: Path) -> None:
    wanted = [list(map(str, list(row.values())[2:])) for row in rows(path)]
    text = kidx_here("dump", path).out.decode().splitlines()
    assert [line.split() for line in text[1:]] == wanted
    listed = csv.reader(io.StringIO(kidx_here("dump", "--format", "csv", path).out.decode()))
    assert [row[1:] for row in listed][1:] == wanted
    document = json.loads(kidx_here("dump", "--format", "json", path).out)
    assert [list(map(str, list(row.values())[2:])) for row in document["rows"]] == wanted
    assert document["summary"]["entries"] == document["summary"]["shown"] == len(wanted)
    table = kidx_here("dump", "--format", "table", path).out.decode()
    assert all(cell in table for cell in wanted[-1])


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "csv", "kafka"])
def test_entries_beyond_one_read_follow_those_before(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "00000000000099999000.index"
    path.write_bytes(b"".join(struct.pack(">ii", 7 * i + 1, 4000 * i) for i in range(3000)))
    narrowed: list[list[str]] = [[]]
    if form != "kafka":
        narrowed += [
            ["--from", "100000001", "--to", "slot:2500"],
            ["--from", "100000001", "--head", "2", "--tail", "900"],
        ]
    printed = []
    for entries_a_read in (1 << 16, 700, 1):
        monkeypatch.setattr(indexes, "BATCH_ENTRIES", entries_a_read)
        printed.append([kidx_here("dump", "--format", form, *words, path).out for words in narrowed])
    assert printed[0] == printed[1] == printed[2]
    assert all(printed[0])


@pytest.mark.parametrize(
    ("options", "slots"),
    [
        (["--head", "2"], [0, 1]),
        (["--tail", "2"], [4, 5]),
        (["--head", "1", "--tail", "1"], [0, 5]),
        (["--head", "5", "--tail", "5"], [0, 1, 2, 3, 4, 5]),
        (["--head", "0"], []),
        (["--from", "257"], [3, 4, 5]),
        (["--from", "250", "--to", "offset:263"], [3, 4]),
        (["--from", "slot:4"], [4, 5]),
        (["--to", "position:1232"], [0, 1]),
        (["--from", "relative_offset:36", "--head", "1"], [4]),
        (["--from", "10000"], []),
    ],
)
def test_choosing_rows(options: list[str], slots: list[int]) -> None:
    assert [row["slot"] for row in rows(INDEX, *options)] == slots


def test_choosing_by_time() -> None:
    times = [row["timestamp"] for row in rows(TIMES)]
    wanted = [t for t in times if t >= times[1]]
    assert [row["timestamp"] for row in rows(TIMES, "--from", f"time:{times[1]}")] == wanted
    assert [row["timestamp"] for row in rows(TIMES, "--from", f"timestamp:{times[1]}")] == wanted
    iso = rows(TIMES, "--iso")[1]["timestamp_iso"]
    assert [row["timestamp"] for row in rows(TIMES, "--from", iso)] == wanted
    assert [row["timestamp"] for row in rows(TIMES, "--from", "1999-01-01", "--to", "2000-01-01T00:00Z")] == []


def test_a_damaged_order_is_shown_whole_and_chosen_from(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.index"
    path.write_bytes(b"".join(struct.pack(">ii", *e) for e in [(5, 1), (-3, -7), (0, 0), (5, 9), (2, 3)]))
    assert [row["relative_offset"] for row in rows(path)] == [5, -3, 0, 5, 2]
    assert [row["slot"] for row in rows(path, "--from", "3")] == [0, 3]
    assert [row["slot"] for row in rows(path, "--from", "3", "--tail", "1")] == [3]


def test_zero_tail_and_torn_entry_are_said_and_entries_before_them_shown(tmp_path: Path) -> None:
    path = Path(shutil.copy(INDEX, tmp_path))
    count = len(rows(path))
    zero_tail(path, 4096)
    append_garbage(path, b"\1\2\3")
    ran = kidx_here("dump", path)
    assert (ran.status, len(ran.out.splitlines())) == (0, count + 1)
    assert b"its last 3 bytes are no whole entry (torn): 01 02 03" in ran.err
    assert f"{4096 - 8 * count} bytes of zeros after its {count} entries" in ran.err.decode()
    document = json.loads(kidx_here("dump", "--format", "json", path).out)
    assert document["summary"]["zero_tail_bytes"] == 4096 - 8 * count
    assert kidx_here("dump", "--format", "json", path).err == b""


def test_torn_bytes_are_shown_in_hex(tmp_path: Path) -> None:
    path = Path(shutil.copy(ABORTED, tmp_path))
    shrink(path, 30)
    assert b"its last 4 bytes are no whole entry (torn): 00 00 00 00" in kidx_here("dump", path).err


def test_hex_shows_which_bytes_are_which_field() -> None:
    text = kidx_here("dump", "--hex", "--from", "slot:3", "--head", "1", INDEX).out.decode().splitlines()
    assert text[0].split() == [
        "slot", "byte_start", "relative_offset_hex", "position_hex", "offset", "relative_offset", "position"
    ]  # fmt: skip
    data = INDEX.read_bytes()[24:32]
    row = rows("--hex", INDEX)[3]
    assert (row["byte_start"], row["relative_offset_hex"], row["position_hex"]) == (
        24,
        data[:4].hex(" "),
        data[4:].hex(" "),
    )


def test_standard_input(tmp_path: Path) -> None:
    data = INDEX.read_bytes()
    ran = kidx("dump", "--format", "csv", "--kind", "offset_index", "--base-offset", "227", "-", stdin=data)
    assert ran.out.replace(b"-,", b"") == kidx_here("dump", "--format", "csv", INDEX).out.replace(
        str(INDEX).encode() + b",", b""
    )
    assert kidx("dump", "-", stdin=data).status == 2
    assert b"add --kind" in kidx("dump", "-", stdin=data).err
    assert b"give one with --base-offset" in kidx("dump", "--kind", "offset_index", "-", stdin=data).err


@pytest.mark.parametrize("name", [f"{NAME}.index{state}" for state in (".deleted", ".swap", ".cleaned")]
                         + ["227_AAAAAAAAAAAAAAAAAAAAAA.index"])  # fmt: skip
def test_names_in_other_states(name: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(INDEX, tmp_path / name))
    assert [r["offset"] for r in rows(path)] == [r["offset"] for r in rows(INDEX)]


def test_directories_patterns_and_lists(tmp_path: Path) -> None:
    listed = tmp_path / "list"
    listed.write_text(f"{INDEX}\n\n{TIMES}\n")
    assert {row["file"] for row in rows("--from-file", listed)} == {str(INDEX), str(TIMES)}
    assert {row["file"] for row in rows("--kind", "transaction_index", TXN.parent)} == {
        str(path) for path in sorted(TXN.parent.rglob("*.txnindex")) if path.stat().st_size
    }
    assert {row["file"] for row in rows(f"{TXN}/*7.index")} == {str(INDEX)}
    text = kidx_here("dump", INDEX, TIMES).out.decode()
    assert text.startswith(f"==> {INDEX} <==\n") and f"\n\n==> {TIMES} <==\n" in text


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (["missing.index"], 3, "no such file"),
        (["{tmp}/orders.index"], 2, "give one with --base-offset"),
        (["{tmp}/notes.txt"], 2, "say what it is with --kind"),
        (["--from", "time:5", str(INDEX)], 2, "its rows hold no timestamp"),
        (["--from", "colour:5", str(INDEX)], 2, "its rows hold no colour"),
        (["--from", "noon", str(INDEX)], 2, "not a time"),
        (["--kind", "sundial", str(INDEX)], 2, "is not one of offset_index"),
        (["--format", "csv", str(INDEX), str(TIMES)], 2, "csv holds one kind of row"),
        (["--format", "kafka", "--head", "1", str(INDEX)], 2, "neither be narrowed"),
        (["--deep-iteration", str(INDEX)], 2, "go with --format kafka"),
        (["--hex", str(TXN / f"{NAME}.log")], 2, "entries that are all alike"),
        ([], 2, "no path given"),
    ],
)
def test_refusals(args: list[str], status: int, said: str, tmp_path: Path) -> None:
    for name in ("orders.index", "notes.txt"):
        (tmp_path / name).write_bytes(INDEX.read_bytes())
    ran = kidx_here("dump", *(a.format(tmp=tmp_path) for a in args))
    assert (ran.status, said in ran.err.decode()) == (status, True), ran.err
    assert ran.err.count(b"\n") == 1


def test_one_bad_file_does_not_hide_the_others(tmp_path: Path) -> None:
    ran = kidx_here("dump", "--format", "jsonl", tmp_path / "00000000000000000000.index", INDEX)
    assert ran.status == 3 and len(ran.rows) == 6


def test_offsets_beyond_int64_wrap_as_java_does(tmp_path: Path) -> None:
    path = tmp_path / f"{2**63 - 2}.index"
    path.write_bytes(struct.pack(">iiii", 1, 5, 2, 6))
    assert [row["offset"] for row in rows("--base-offset", 2**63 - 2, path)] == [2**63 - 1, -(2**63)]
