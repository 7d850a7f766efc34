"""`kidx export`: four formats, files that appear when they are complete, resuming, the manifest, refusals."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kidx.export import run
from kidx.export.reading import Asked
from kidx.export.rows import Form
from kidx.export.sources import Wanted, find_sources
from kidx.library import open_partition
from tests.damage import flip_byte
from tests.support import HANG_S, KAFKA_SETS, kidx, kidx_here

CLEAN = KAFKA_SETS[0] / "clean"
FIELDS = (  # noqa: SIM905
    "schema topic partition offset timestamp timestamp_type key value headers leader_epoch producer_id producer_epoch "
    "sequence transactional control_type segment position"
).split()


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


@pytest.mark.parametrize("partition", ["mixed-0", "txn-0", "codecs-3", "logappend-0"])
def test_json_lines_hold_the_records_exactly(partition: str) -> None:
    ran = kidx_here("export", "--encoding", "base64", "--control", CLEAN / partition)
    assert ran.status == 0
    records = list(open_partition(str(CLEAN / partition)).records())
    assert [list(row) for row in ran.rows[:1]] == [FIELDS]
    for row, record in zip(ran.rows, records, strict=True):
        assert (row["offset"], row["timestamp"]) == (record.offset, record.timestamp)
        assert (decoded(row["key"]), decoded(row["value"])) == (record.key, record.value)
        headers = [(h["key"], decoded(h["value"])) for h in row["headers"]]
        assert headers == [(name.decode("utf-8", "backslashreplace"), value) for name, value in record.headers]
        assert row["sequence"] == record.sequence


def test_csv_and_json_lines_say_the_same() -> None:
    options = "export", "--encoding", "hex", CLEAN / "mixed-0"
    lines = kidx_here(*options).rows
    text = kidx_here(*options, "--format", "csv").out.decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert list(rows[0]) == FIELDS[1:]
    for row, line in zip(rows, lines, strict=True):
        assert (row["key"] or None) == (line["key"] or None)
        assert (row["offset"], row["value"]) == (str(line["offset"]), line["value"] or "")
        assert json.loads(row["headers"]) == line["headers"]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_parquet_and_arrow_keep_bytes(form: str, tmp_path: Path) -> None:
    import pyarrow.ipc
    import pyarrow.parquet

    out = tmp_path / f"records.{form}"
    assert kidx_here("export", "--format", form, "--output", out, CLEAN / "mixed-0", CLEAN / "plain-0").status == 0
    table = pyarrow.parquet.read_table(out) if form == "parquet" else pyarrow.ipc.open_file(out).read_all()
    want = [r for name in ("mixed-0", "plain-0") for r in open_partition(str(CLEAN / name)).records()]
    assert table["key"].to_pylist() == [r.key for r in want]
    assert table["value"].to_pylist() == [r.value for r in want]
    assert sorted(set(table["topic"].to_pylist())) == ["mixed", "plain"]


def test_arrow_goes_to_a_pipe_as_a_stream() -> None:
    import pyarrow.ipc

    ran = kidx("export", "--format", "arrow", CLEAN / "plain-0", CLEAN / "times-0")
    table = pyarrow.ipc.open_stream(ran.out).read_all()
    assert len(table) == len(kidx_here("export", CLEAN / "plain-0", CLEAN / "times-0").rows)


def test_text_that_is_not_utf8_is_escaped_and_counted() -> None:
    ran = kidx_here("export", "--columns", "offset,key,value", CLEAN / "mixed-0")
    assert [list(row) for row in ran.rows[:1]] == [["schema", "offset", "key", "value"]]
    assert b"not UTF-8" in ran.err
    assert b"\\\\x" in ran.out


def test_json_values_stand_as_they_are(tmp_path: Path) -> None:
    from kidx.export.text_rows import TextColumns
    from kidx.text.spans import spans_of

    values = [b'{"a": 1,\n "b": [2.50]}', b"plain", b'"text"', None, b"", b"NaN", b"[" * 100_000, b"\xff", b"12"]
    text = TextColumns("json", quoted=True).text(spans_of(values), quoted=True)
    assert [None if t is None else json.loads(t) for t in text.tolist()][:6] == [
        {"a": 1, "b": [2.5]},
        "plain",
        "text",
        None,
        "",
        "NaN",
    ]
    assert all(b"\n" not in t for t in text.tolist() if t)
    assert text.tolist()[7:] == [b'"\\\\xff"', b"12"]


def test_a_directory_gets_a_file_for_each_partition_and_no_leftovers(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert kidx_here("export", "--output", out, "--jobs", 2, CLEAN).status == 0
    names = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
    assert "txn-0.jsonl" in names
    assert not [path for path in out.rglob("*") if path.name.endswith(".partial")]
    again = kidx_here("export", "--output", out, CLEAN)
    assert (again.status, b"--resume" in again.err) == (2, True)
    assert kidx_here("export", "--output", out, "--resume", CLEAN).status == 0
    other = kidx_here("export", "--output", out, "--resume", "--control", CLEAN)
    assert (other.status, b"another directory" in other.err) == (2, True)


def test_an_interrupted_export_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources, _ = find_sources([str(CLEAN / "txn-0")], Wanted())
    form = Form("jsonl", file_bytes=20_000)
    whole = tmp_path / "whole"
    (complete,) = run.export_to_directory(sources, Asked(), form, str(whole))
    assert len(complete.files) > 2
    assert all(entry["bytes"] <= 20_000 for entry in complete.files)

    class Stop(Exception):
        pass

    finish, done = run.PartitionFiles._complete, []

    def stopping(files: Any) -> Any:
        if len(done) == len(complete.files) - 1:
            raise Stop
        done.append(1)
        return finish(files)

    part = tmp_path / "part"
    monkeypatch.setattr(run.PartitionFiles, "_complete", stopping)
    with pytest.raises(Stop):
        run.export_to_directory(sources, Asked(), form, str(part))
    monkeypatch.undo()
    assert len([path for path in part.iterdir() if path.is_file()]) == len(complete.files) - 1
    (resumed,) = run.export_to_directory(sources, Asked(), form, str(part), resume=True)
    assert (resumed.records, resumed.first_offset, resumed.last_offset) == (
        complete.records,
        complete.first_offset,
        complete.last_offset,
    )
    text = [b"".join(path.read_bytes() for path in sorted(d.glob("*.jsonl"))) for d in (whole, part)]
    assert text[0] == text[1]
    assert resumed.exported == complete.exported


def test_the_manifest_accounts_for_damage(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(CLEAN / "plain-0", tmp_path / "plain-0"))
    log = max(directory.glob("*.log"), key=lambda path: path.stat().st_size)
    flip_byte(log, log.stat().st_size // 2)
    manifest = tmp_path / "manifest.json"
    ran = kidx_here("export", "--manifest", manifest, directory)
    said = json.loads(manifest.read_text())
    assert (ran.status, said["schema"], said["status"]) == (1, "kidx.export_manifest.v1", 1)
    (partition,) = said["partitions"]
    assert partition["records"] == len(ran.rows)
    assert partition["damaged"][0]["file"] == str(log)
    assert b"damaged" in ran.err


def test_what_cannot_be_read_is_status_3(tmp_path: Path) -> None:
    assert kidx_here("export", tmp_path / "nothing-0").status == 3
    (tmp_path / "empty-0").mkdir()
    assert kidx_here("export", tmp_path / "empty-0").status == 3
    assert kidx_here("export", CLEAN / "plain-0/00000000000000000000.index").status == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--columns", "nothing"], "no column nothing"),
        (["--key-sha256", "ff"], "64 hexadecimal digits"),
        (["--from", "slot:3"], "by offset or timestamp"),
        (
            ["--to", "time:5", "--until", "2026-01-01"],
            "two such bounds",
        ),
        (["--file-size", "2M"], "is a directory"),
        (["--resume"], "is a directory"),
    ],
)
def test_misuse_is_one_sentence(options: list[str], said: str) -> None:
    ran = kidx_here("export", *options, CLEAN / "plain-0")
    assert (ran.status, ran.out, said in ran.err.decode()) == (2, b"", True), ran.err


def test_nothing_is_written_into_evidence(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(CLEAN / "plain-0", tmp_path / "data/plain-0"))
    for output in (directory / "out", directory / "out.csv", tmp_path / "data", directory):
        ran = kidx_here("export", "--output", output, directory)
        assert ran.status in (2, 3), output
    existing = tmp_path / "there.jsonl"
    existing.write_text("mine")
    assert kidx_here("export", "--output", existing, directory).status == 2
    assert existing.read_text() == "mine"
    assert sorted(path.name for path in directory.iterdir()) == sorted(
        path.name for path in (CLEAN / "plain-0").iterdir()
    )


@pytest.mark.parametrize("form", ["parquet", "arrow", "jsonl", "csv"])
@pytest.mark.parametrize("name", ["out", "out.data"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing_under_the_name(name: str, form: str, tmp_path: Path) -> None:
    limited = f"ulimit -f 8; exec {sys.executable} -m kidx export --format {form} --output {name} {CLEAN / 'pages14-0'}"
    done = subprocess.run(["sh", "-c", limited], cwd=tmp_path, capture_output=True, timeout=HANG_S, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1), done.stderr
    assert b"cannot be written" in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".json"] == []


def test_names_of_any_bytes(tmp_path: Path) -> None:
    for number, name in enumerate((b"bad\xff", b'q"uo,te\n', b"c'omma")):
        shutil.copytree(CLEAN / "plain-0", tmp_path / "data" / f"{os.fsdecode(name)}-{number}")
    ran = kidx_here("export", tmp_path / "data")
    assert {row["topic"] for row in ran.rows} == {"bad\\xff", 'q"uo,te\n', "c'omma"}
    for form in ("parquet", "arrow", "csv", "jsonl"):
        assert kidx_here("export", "--format", form, "--output", tmp_path / form, tmp_path / "data").status == 0
        assert (
            kidx_here("export", "--format", form, "--output", tmp_path / f"all.{form}", tmp_path / "data").status == 0
        )
