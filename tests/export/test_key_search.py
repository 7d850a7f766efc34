"""Is a key still there, in which files, and when does it go?"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from kidx.library import open_partition
from tests.damage import flip_byte
from tests.support import KAFKA_SETS, kidx_here

CLEAN = KAFKA_SETS[0] / "clean"
KEY = b"key-736"


def search(*args: object) -> tuple[int, list[dict[str, object]]]:
    ran = kidx_here("export", "--count", *args)
    return ran.status, ran.rows


def test_every_file_with_the_key_is_listed() -> None:
    status, rows = search("--key", KEY.decode(), CLEAN / "plain-0")
    offsets = [record.offset for record in open_partition(str(CLEAN / "plain-0")).records() if record.key == KEY]
    assert status == 1
    assert sum(int(str(row["records"])) for row in rows) == len(offsets)
    assert (rows[0]["first_offset"], rows[-1]["last_offset"]) == (offsets[0], offsets[-1])
    assert "retention.ms" in str(rows[0]["goes"])
    assert search("--key-sha256", hashlib.sha256(KEY).hexdigest(), CLEAN / "plain-0") == (status, rows)


def test_nothing_there_is_status_0() -> None:
    assert search("--key", "nobody", CLEAN) == (0, [])


@pytest.mark.parametrize("state", [".deleted", ".cleaned", ".swap"])
def test_files_in_every_state_are_searched(state: str, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(CLEAN / "plain-0", tmp_path / "plain-0"))
    for log in directory.glob("*.log"):
        log.rename(log.with_name(log.name + state))
    status, rows = search("--key", KEY.decode(), tmp_path)
    assert status == 1
    assert {row["state"] for row in rows} == {state}


def test_renamed_directories_are_searched(tmp_path: Path) -> None:
    shutil.copytree(CLEAN / "plain-0", tmp_path / f"plain-0.{'a' * 32}-delete")
    assert search("--key", KEY.decode(), tmp_path)[0] == 1


def test_a_batch_that_cannot_be_decoded_may_have_the_key(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(CLEAN / "codecs-1", tmp_path / "codecs-1"))
    log = max(directory.glob("*.log"), key=lambda path: path.stat().st_size)
    flip_byte(log, log.stat().st_size // 2)
    ran = kidx_here("export", "--count", "--key", "nobody", directory)
    assert (ran.status, ran.rows, b"may have the key" in ran.err) == (3, [], True)


def test_compaction_says_which_record_stays() -> None:
    log_dir = KAFKA_SETS[0] / "compaction/before"
    partition = next(path for path in log_dir.iterdir() if path.name.startswith("compacted-"))
    records = [r for r in open_partition(str(partition)).records() if r.key is not None]
    key = records[0].key or b""
    status, rows = search("--key", key.decode(), partition)
    last = max(r.offset for r in records if r.key == key)
    assert status == 1
    assert any(f"offset {last}" in str(row["goes"]) for row in rows)
    assert "compaction" in str(rows[0]["goes"])


def test_count_needs_a_key_and_a_format_of_rows() -> None:
    assert kidx_here("export", "--count", CLEAN).status == 2
    assert kidx_here("export", "--count", "--key", "x", "--format", "parquet", CLEAN).status == 2


def test_dump_searches_and_counts_as_export_does() -> None:
    digest = hashlib.sha256(KEY).hexdigest()
    log = CLEAN / "plain-0/00000000000000000000.log"
    by_key = kidx_here("dump", "--key", KEY.decode(), "--format", "jsonl", log)
    by_digest = kidx_here("dump", "--key-sha256", digest, "--format", "jsonl", log)
    assert by_key.rows == by_digest.rows
    assert len(by_key.rows) == 2
    counted = kidx_here("dump", "--count", "--key-sha256", digest, "--format", "jsonl", CLEAN / "plain-0")
    assert (counted.status, counted.rows) == search("--key", KEY.decode(), CLEAN / "plain-0")
    assert kidx_here("dump", "--count", "--key", "nobody", CLEAN / "plain-0").status == 0
    assert kidx_here("dump", "--key", "a", "--key-sha256", digest, log).status == 2
