"""kidx startup: statuses, formats, the screen."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kidx.startup.versions import nearest_version
from tests.startup.recorded import recorded
from tests.support import kidx_here

CLEAN, CUT = "kafka-4.3.1/clean-as-it-was", "kafka-4.3.1/killed-unflushed-wrong-crc"


def test_a_clean_log_dir_starts_and_loses_nothing() -> None:
    ran = kidx_here("startup", *recorded(CLEAN).log_dirs)
    assert (ran.status, ran.err) == (0, b"")
    assert ran.out.startswith(b"A broker 4.3.1 starts and loses nothing.\n")


def test_a_cut_is_status_1_and_comes_before_the_work() -> None:
    ran = kidx_here("startup", *recorded(CUT).log_dirs)
    lines = ran.out.decode().splitlines()
    assert (ran.status, lines[0]) == (1, "A broker 4.3.1 starts, and loses 15 records.")
    assert lines.index("Lost or refused:") < lines.index("Work:") < lines.index("Files:")


def test_a_refusal_has_kafkas_class_and_message() -> None:
    (log_dir,) = recorded("kafka-4.3.1/clean-active-zero-tail").log_dirs
    ran = kidx_here("startup", log_dir, "--format", "jsonl")
    summary = ran.rows[-1]
    assert (ran.status, summary["starts"]) == (1, False)
    assert summary["reason"].startswith(
        "org.apache.kafka.common.errors.CorruptRecordException: Found record size 0 smaller than minimum record "
        f"overhead (14) in file {log_dir}/"
    )


def test_the_rows_end_with_the_summary() -> None:
    ran = kidx_here("startup", *recorded(CUT).log_dirs, "--format", "jsonl", "--rate", "1k")
    schemas = list(dict.fromkeys(row["schema"] for row in ran.rows))
    assert schemas == ["kidx.startup_action.v1", "kidx.startup_partition.v1", "kidx.startup_summary.v1"]
    summary = ran.rows[-1]
    assert (summary["truncated_bytes"], summary["records_lost"], summary["rate"]) == (466, 15, 1024)
    assert summary["seconds"] == round(summary["bytes_read"] / 1024, 1)


def test_json_is_one_object_with_the_same_rows() -> None:
    lines = kidx_here("startup", *recorded(CUT).log_dirs, "--format", "jsonl").rows
    envelope = json.loads(kidx_here("startup", *recorded(CUT).log_dirs, "--format", "json").out)
    assert envelope["rows"] == lines[:-1]
    assert envelope["summary"] == lines[-1]


def test_csv_has_the_actions() -> None:
    out = kidx_here("startup", *recorded(CUT).log_dirs, "--format", "csv").out.decode()
    assert out.startswith("action,directory,partition,segment,file,bytes_before,")
    assert sum("truncate" in line for line in out.splitlines()) == 1


def test_an_unknown_version_is_taken_for_the_nearest() -> None:
    assert [nearest_version(v).name for v in ("2.4.0", "3.0.0", "3.7.1", "4.0.0", "5.1", "0.11.0.3")] == [
        "2.8.2", "3.9.1", "3.9.1", "4.3.1", "4.3.1", "2.8.2",
    ]  # fmt: skip
    ran = kidx_here("startup", *recorded(CLEAN).log_dirs, "--broker-version", "3.7.0", "--format", "jsonl")
    assert (ran.rows[-1]["broker_version"], ran.rows[-1]["asked_version"]) == ("3.9.1", "3.7.0")
    assert b"no start of 3.7.0 is recorded" in ran.err


@pytest.mark.parametrize("version", ["latest", "4.x", "", "1.2.3.4.5"])
def test_a_word_that_is_no_version_is_misuse(version: str) -> None:
    assert kidx_here("startup", *recorded(CLEAN).log_dirs, "--broker-version", version).status == 2


def test_a_log_dir_that_is_not_there_is_unread(tmp_path: Path) -> None:
    ran = kidx_here("startup", tmp_path / "nothing")
    assert (ran.status, ran.out) == (3, b"")
    assert b"no such file or directory" in ran.err


def test_a_file_in_place_of_a_log_dir_goes_offline(tmp_path: Path) -> None:
    copies = [shutil.copytree(d, tmp_path / Path(d).name) for d in recorded(CLEAN).log_dirs]
    (tmp_path / "d2").write_text("")
    ran = kidx_here("startup", *copies, tmp_path / "d2", "--format", "jsonl")
    summary = ran.rows[-1]
    assert (ran.status, summary["starts"], summary["offline_dirs"]) == (1, True, [str(tmp_path / "d2")])


def test_an_unrecorded_refusal_a_segment_that_begins_below_its_base(tmp_path: Path) -> None:
    (source,) = recorded("kafka-4.3.1/killed-as-it-was").log_dirs
    log_dir = shutil.copytree(source, tmp_path / "d1")
    active = max((log_dir / "parcels-0").glob("*.log"))
    for file in active.parent.glob(f"{active.stem}.*"):
        file.rename(file.with_name(f"{int(active.stem) + 5:020d}{file.suffix}"))
    summary = kidx_here("startup", log_dir, "--format", "jsonl").rows[-1]
    assert "Split operation is only permitted for segments with overflow" in summary["reason"]


def test_verify_suggests_asking_before_the_start(tmp_path: Path) -> None:
    (source,) = recorded(CLEAN).log_dirs
    log_dir = shutil.copytree(source, tmp_path / "d1")
    index = max((log_dir / "parcels-0").glob("*.index"))
    index.write_bytes(index.read_bytes()[:-3])
    ran = kidx_here("verify", "--suggest", log_dir)
    assert ran.out.decode().endswith(f"would do with the files as they are:\n  kidx startup {log_dir}\n")
