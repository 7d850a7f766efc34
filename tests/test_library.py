"""`import kidx`: light, typed, and what docs/library.md shows."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kidx
from kidx import library
from kidx.formats.batches import BATCH_HEADER
from kidx.formats.indexes import OFFSET_INDEX
from tests import damage
from tests.support import OWN_FIXTURES, kidx_here

ROOT = Path(__file__).resolve().parents[1]
CLEAN = OWN_FIXTURES / "kafka-4.3.1" / "clean"
PLAIN = CLEAN / "plain-0"


@pytest.mark.parametrize(("name", "least"), [("library.md", 30), ("notebook.md", 9)])
def test_the_page_prints_what_it_says(name: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "notebook.md":
        pytest.importorskip("pyarrow")
        pytest.importorskip("duckdb")
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / name
    sessions = "\n".join(re.findall(r"```pycon\n(.*?)```", page.read_text(), re.DOTALL))
    test = doctest.DocTestParser().get_doctest(sessions, {}, page.name, str(page), 0)
    assert len(test.examples) > least
    said: list[str] = []
    results = doctest.DocTestRunner().run(test, out=said.append)
    assert results.failed == 0, "".join(said)


def test_import_alone_imports_no_room_and_nothing_heavy() -> None:
    code = "import sys, kidx; print(*(m for m in sys.modules if m.startswith('kidx') or m in ('numpy', 'json')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["kidx"]


def test_everything_offered_is_there_and_documented() -> None:
    public = [name for name in dir(kidx) if not name.startswith("_") and name not in ("TYPE_CHECKING", "annotations")]
    functions = [name for name in vars(library) if name.startswith("open_") or name == "verify"]
    assert set(functions) - {"open_evidence"} <= set(public)
    page = (ROOT / "docs" / "library.md").read_text()
    for name in functions:
        if name != "open_evidence":
            assert getattr(kidx, name) is getattr(library, name)
            assert getattr(kidx, name).__doc__ and f"`{name}`" in page
    with pytest.raises(AttributeError, match="no attribute 'open_all'"):
        _ = kidx.open_all  # type: ignore[attr-defined]


def test_types_ship_with_the_package() -> None:
    assert (ROOT / "kidx" / "py.typed").exists()


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
def test_an_index_is_the_rows_that_dump_prints(suffix: str) -> None:
    for path in sorted(CLEAN.glob(f"*/*{suffix}")):
        with kidx.open_index(str(path)) as index:
            array = index.to_numpy()
            rows = kidx_here("dump", path, "--format", "jsonl").rows
            assert len(array) == index.entries == len(rows)
            names = array.dtype.names or ()
            assert array.tolist() == [tuple(row[name] for name in names) for row in rows]


def test_batches_are_the_rows_that_dump_prints() -> None:
    codecs = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
    for path in sorted((*CLEAN.glob("codecs-*/*.log"), *CLEAN.glob("txn-0/*.log"), *PLAIN.glob("*.log"))):
        with kidx.open_segment(str(path)) as segment:
            array = segment.batches()
        rows = kidx_here("dump", path, "--format", "jsonl").rows
        names = [name for name in array.dtype.names or () if name != "log_append_time" and name in rows[0]]
        assert {"position", "base_offset", "codec", "crc", "crc_ok", "control"} <= set(names)
        wanted = [tuple(codecs[row[n]] if n == "codec" else row[n] for n in names) for row in rows]
        assert [tuple(row) for row in array[names].tolist()] == wanted


def test_records_of_a_partition_are_all_there_from_any_offset() -> None:
    partition = kidx.open_partition(str(PLAIN))
    offsets = [record.offset for record in partition.records()]
    assert offsets == list(range(partition.start_offset, partition.end_offset))
    for start in (0, 1, 189, 190, 191, 280):
        assert [record.offset for record in partition.records(start)] == offsets[start:]
        segment, found = partition.find_offset(start)
        assert segment is not None and found.record is not None and found.record.offset == start
    assert partition.find_offset(partition.end_offset + 1)[0] is None


def test_what_ends_a_log_early_is_among_the_troubles(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes((PLAIN / log.name).read_bytes())
    damage.shrink(log, 5)
    with kidx.open_segment(str(log)) as segment:
        assert len(segment.batches()) == 41
        assert len(segment.troubles) == 1 and str(log) in segment.troubles[0]
    damage.flip_byte(log, BATCH_HEADER.size + 40)
    with kidx.open_segment(str(log)) as segment:
        assert segment.batches()["crc_ok"].tolist() == [False] + [True] * 40
        assert all(segment.batches(check_crc=False)["crc_ok"])
    log.write_bytes(b"")
    with kidx.open_segment(str(log)) as segment:
        assert len(segment.batches()) == 0 and list(segment.records()) == [] and segment.troubles == []


def test_a_name_that_does_not_tell_is_helped_by_arguments(tmp_path: Path) -> None:
    copy = tmp_path / "index-of-a-ticket"
    copy.write_bytes((PLAIN / "00000000000000000000.index").read_bytes())
    with pytest.raises(kidx.UsageError, match="not an index by its name"):
        kidx.open_index(str(copy))
    with kidx.open_index(str(copy), kind=OFFSET_INDEX.kind, base_offset=100) as index:
        assert index.to_numpy()["offset"][0] == 123
    with pytest.raises(kidx.UsageError, match="not a segment"):
        kidx.open_segment(str(copy))
    with pytest.raises(kidx.CannotRead):
        kidx.open_index(str(tmp_path / "00000000000000000000.index"))
    with pytest.raises(kidx.CannotRead, match="no segment"):
        kidx.open_partition(str(tmp_path))


def test_a_transaction_index_has_no_search() -> None:
    with (
        kidx.open_index(str(CLEAN / "txn-0" / "00000000000000000000.txnindex")) as index,
        pytest.raises(kidx.WrongFormat, match="no search"),
    ):
        index.look_up(5)


def test_files_are_closed_with_their_context() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with (
        kidx.open_index(str(PLAIN / "00000000000000000000.index")),
        kidx.open_segment(str(PLAIN / "00000000000000000000.log")),
    ):
        assert len(os.listdir("/proc/self/fd")) > before
    list(kidx.open_partition(str(PLAIN)).records())
    assert len(os.listdir("/proc/self/fd")) == before


def test_verify_is_the_command(tmp_path: Path) -> None:
    for file in PLAIN.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    damage.swap_entries(tmp_path / "00000000000000000000.index", 3, 4)
    result = kidx.verify(str(tmp_path))
    rows = kidx_here("verify", tmp_path, "--format", "jsonl").rows
    assert result.findings
    assert [finding._asdict() for finding in result.findings] == [
        {name: value for name, value in row.items() if name != "schema"} for row in rows[:-1]
    ]
    assert result.coverage.bytes_checked == rows[-1]["bytes_checked"]
    code = result.findings[0].rule
    assert {f.rule for f in kidx.verify(str(tmp_path), rules=[code]).findings} == {code}
    with pytest.raises(kidx.UsageError, match="level"):
        kidx.verify(str(tmp_path), level="thorough")
    with pytest.raises(kidx.UsageError):
        kidx.verify(str(tmp_path), rules=["KX999"])
