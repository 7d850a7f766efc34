from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.schemas import documented_fields
from tests.cli.test_light_start import imported
from tests.damage import overwrite, set_entry, shrink
from tests.support import FIXTURES, Ran, kidx

SET = FIXTURES / "kafka-4.3.1"
TXN = SET / "clean" / "txn-0"
PLAIN = SET / "clean" / "plain-0"
TRIMMED = SET / "clean" / "trimmed-0"


def lookup(*args: object) -> Ran:
    return kidx("lookup", *args, "--format", "jsonl")


def row_of(*args: object) -> dict[str, object]:
    ran = lookup(*args)
    assert ran.status == 0 and not ran.err, ran.err
    (row,) = ran.rows
    return row


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A copy of a partition that may be damaged."""
    return Path(shutil.copytree(PLAIN, tmp_path / "plain-0"))


def first_log(partition: Path) -> Path:
    return min(partition.glob("*.log"))


def test_a_read_has_its_schema() -> None:
    row = row_of(PLAIN, "--offset", 5)
    assert list(row) == ["schema", *documented_fields("lookup", "kidx.read.v1")]
    assert row["schema"] == "kidx.read.v1" and row["target"] == 5 and row["segment"] == 0
    assert row["record"]["offset"] == 5 and row["visible"] is None and row["pages"] is None  # type: ignore[index]


def test_a_partition_picks_the_segment() -> None:
    bases = sorted(int(log.stem) for log in PLAIN.glob("*.log"))
    assert len(bases) > 1
    for base in bases:
        row = row_of(PLAIN, "--offset", base)
        assert row["segment"] == base and row == {
            **row_of(PLAIN / f"{base:020d}.log", "--offset", base),
            "file": str(PLAIN),
        }


def test_pages_of_index_and_log() -> None:
    row = row_of(SET / "clean" / "pages13-0", "--offset", 6656, "--trace-pages")
    pages = row["pages"]
    assert pages["index"] == [10, 11, 12]  # type: ignore[index]
    position = row["batch"]["position"]  # type: ignore[index]
    assert pages["log"][0] == row["index_position"] // 4096 and position // 4096 in pages["log"]  # type: ignore[index, operator]
    times = row_of(SET / "clean" / "pages13-0", "--timestamp", 0, "--trace-pages")["pages"]
    assert list(times) == ["time_index", "index", "log"]  # type: ignore[call-overload]


def test_offsets_out_of_range_are_said() -> None:
    row = row_of(TRIMMED, "--offset", 0)
    assert row["batch"] is None and "below the log start offset 120" in str(row["why"])
    row = row_of(PLAIN, "--offset", 10**9)
    assert row["batch"] is None and "OFFSET_OUT_OF_RANGE" in str(row["why"])


def test_a_fetch_gets_at_least_one_batch() -> None:
    row = row_of(PLAIN, "--offset", 0, "--max-bytes", 1)
    batch = row["batch"]
    size = batch["size"]  # type: ignore[index]
    assert row["slice"] == {"position": 0, "size": size, "last_offset": batch["last_offset"], "partial_bytes": 0}  # type: ignore[index]
    row = row_of(PLAIN, "--offset", 0, "--max-bytes", size + 10)
    assert row["slice"]["partial_bytes"] == 10  # type: ignore[index]
    row = row_of(first_log(PLAIN), "--offset", 0, "--max-bytes", 10**9)
    assert row["slice"]["size"] == first_log(PLAIN).stat().st_size  # type: ignore[index]


def test_isolation() -> None:
    seen = {
        isolation: [row_of(TXN, "--offset", n, "--isolation", isolation)["visible"] for n in range(8)]
        for isolation in ("read_committed", "read_uncommitted")
    }
    assert all(isinstance(v, bool) for values in seen.values() for v in values)
    for committed, uncommitted in zip(seen["read_committed"], seen["read_uncommitted"], strict=True):
        assert uncommitted or not committed
    of_segment = row_of(first_log(TXN), "--offset", 2, "--isolation", "read_committed")
    assert of_segment["visible"] == seen["read_committed"][2] and of_segment["isolation"] == "read_committed"


def test_times_of_a_partition() -> None:
    end = row_of(PLAIN, "--timestamp", -1)
    start = row_of(TRIMMED, "--timestamp", -2)
    assert start["found"] == {"timestamp": -1, "offset": 120, "leader_epoch": 0}
    largest = row_of(PLAIN, "--timestamp", -3)["found"]
    found = row_of(PLAIN, "--timestamp", largest["timestamp"])["found"]  # type: ignore[index]
    assert found == largest and largest["offset"] < end["found"]["offset"]  # type: ignore[index]
    late = row_of(PLAIN, "--timestamp", "2200-01-01")
    assert late["found"] is None and "so late" in str(late["why"])
    assert list(late) == ["schema", *documented_fields("lookup", "kidx.find.v1")]


def test_a_trimmed_partition_begins_at_its_start() -> None:
    assert row_of(TRIMMED, "--timestamp", 0)["found"]["offset"] == 120  # type: ignore[index]
    assert row_of(TRIMMED, "--timestamp", 0, "--start", 130)["found"]["offset"] == 130  # type: ignore[index]


def test_past_the_high_watermark_is_withheld(tmp_path: Path) -> None:
    shutil.copytree(PLAIN, tmp_path / "plain-0")
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\nplain 0 3\n")
    assert row_of(tmp_path / "plain-0", "--timestamp", -1)["found"]["offset"] == 3  # type: ignore[index]
    assert row_of(tmp_path / "plain-0", "--timestamp", 0)["found"]["offset"] == 0  # type: ignore[index]
    largest = row_of(tmp_path / "plain-0", "--timestamp", -3)
    assert largest["found"] is None and "withheld" in str(largest["why"])
    assert row_of(tmp_path / "plain-0", "--offset", 3, "--isolation", "read_uncommitted")["visible"] is False


def test_preallocated_indexes_and_an_unclean_stop() -> None:
    for stage in ("live", "unclean"):
        partition = SET / stage / "plain-0"
        end = row_of(partition, "--timestamp", -1)["found"]["offset"]  # type: ignore[index]
        assert end > 0
        assert row_of(partition, "--offset", end - 1)["record"] is not None
        largest = row_of(partition, "--timestamp", -3)  # after a kill the checkpointed high watermark lags behind
        assert largest["found"] is not None or "withheld" in str(largest["why"])


def test_missing_indexes_are_said_and_done_without(plain: Path) -> None:
    asked = [("--offset", 7), ("--timestamp", row_of(plain, "--offset", 7)["record"]["timestamp"])]  # type: ignore[index]
    healthy = [row_of(first_log(plain), *args) for args in asked]
    for index in [*plain.glob("*index")]:
        index.unlink()
    for args, row in zip(asked, healthy, strict=True):
        ran = lookup(first_log(plain), *args)
        for name in ("batch", "record", "found"):
            assert ran.rows[0].get(name) == row.get(name)
        assert b".index is missing; walking without it" in ran.err and ran.status == 0


def test_an_index_that_leads_astray_is_said(plain: Path) -> None:
    log = first_log(plain)
    set_entry(log.with_suffix(".index"), 0, 1, 17)
    ran = lookup(log, "--offset", 2)
    assert ran.status == 3 and b"byte 17, where the offset index leads" in ran.err
    assert ran.rows[0]["batch"] is None


def test_a_torn_log_is_said(plain: Path) -> None:
    log = max(plain.glob("*.log"))
    shrink(log, 5)
    ran = lookup(log, "--offset", 10**6)
    assert ran.status == 3 and b"no whole batch at byte" in ran.err


def test_a_batch_that_cannot_be_decoded_is_said(plain: Path) -> None:
    log = first_log(plain)
    overwrite(log, 61, b"\xff" * 12)
    ran = lookup(log, "--offset", 0)
    assert ran.status == 3 and b"cannot be decoded" in ran.err
    assert ran.rows[0]["batch"]["base_offset"] == 0 and ran.rows[0]["record"] is None


def test_an_empty_partition() -> None:
    empty = SET / "clean" / "empty-0"
    assert row_of(empty, "--offset", 0)["batch"] is None
    assert row_of(empty, "--timestamp", 0)["found"] is None
    assert row_of(empty, "--timestamp", -1)["found"]["offset"] == 0  # type: ignore[index]


def test_a_segment_by_itself(tmp_path: Path) -> None:
    alone = tmp_path / "saved.log"
    shutil.copy(first_log(PLAIN), alone)
    assert lookup(alone, "--offset", 5).status == 2
    ran = lookup(alone, "--offset", 5, "--base-offset", 0)
    assert ran.rows[0]["record"]["offset"] == 5 and ran.status == 0


def test_the_screens() -> None:
    read = kidx("lookup", TXN, "--offset", 2, "--isolation", "read_committed", "--max-bytes", 300, "--trace-pages")
    for said in ("offset 2 -> batch ", "record 2, timestamp", "read_committed consumer", "a fetch gets", "of the log"):
        assert said in read.out.decode()
    assert "-> offset 0, timestamp" in kidx("lookup", PLAIN, "--timestamp", 0, "--iso").out.decode()
    assert "-> none" in kidx("lookup", PLAIN, "--timestamp", "2200-01-01").out.decode()


def test_a_target_alone_is_an_offset_or_a_time() -> None:
    assert row_of(PLAIN, 5) == row_of(PLAIN, "--offset", 5)
    assert row_of(first_log(PLAIN), 5) == row_of(first_log(PLAIN), "--offset", 5)
    assert row_of(PLAIN, "2023-11-15") == row_of(PLAIN, "--timestamp", "2023-11-15")
    assert row_of(PLAIN, "latest") == row_of(PLAIN, "--timestamp", "latest")
    assert kidx("lookup", PLAIN, "latest").out.startswith(b"latest -> offset ")
    text = kidx("lookup", PLAIN, "max-timestamp", "--iso").out.decode()
    assert text.startswith("max-timestamp -> offset ") and "1969" not in text


def test_a_read_imports_no_numpy() -> None:
    heavy = {"numpy", "rich", "pyspark", "pyarrow"}
    assert not imported("lookup", PLAIN, "--offset", 5, "--isolation", "read_committed") & heavy
    assert not imported("lookup", PLAIN, "--timestamp", 5) & heavy


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        ([PLAIN], 2, "give one of --offset, --timestamp and a single target"),
        ([PLAIN, 5, 6], 2, "give one of --offset"),
        ([PLAIN, "--from-file", "/dev/null"], 2, "give one of --offset"),
        ([PLAIN, "--offset", 5, "--timestamp", 5], 2, "give one of --offset"),
        ([PLAIN, 5, "--offset", 5], 2, "give one of --offset"),
        ([PLAIN, "--timestamp", 5, "--max-bytes", 5], 2, "--max-bytes belongs to --offset"),
        ([PLAIN, "--offset", 5, "--start", 5], 2, "--start belongs to --timestamp"),
        ([PLAIN, "--timestamp", "soon"], 2, "ISO 8601"),
        ([PLAIN / "00000000000000000000.index", "--offset", 5], 2, "a .log file or a partition"),
        ([PLAIN / "00000000000000009999.log", "--offset", 5], 3, "no such file"),
        ([SET / "clean", "--offset", 5], 3, "no segment in it"),
    ],
)
def test_refusals(args: list[object], status: int, said: str) -> None:
    ran = lookup(*args)
    assert (ran.status, ran.out) == (status, b"") and said in ran.err.decode()


def test_an_index_that_leads_out_of_the_log_is_said(plain: Path) -> None:
    log = first_log(plain)
    for position in (-5, 2**31 - 1):
        set_entry(log.with_suffix(".index"), 0, 1, position)
        ran = lookup(log, "--offset", 2)
        assert ran.status == 3 and f"leads to byte {position} (slot 0)".encode() in ran.err
        assert ran.rows[0]["batch"] is None


@pytest.mark.parametrize(("word", "number"), [("latest", -1), ("earliest", -2), ("max-timestamp", -3)])
def test_words_of_kafka_get_offsets_stand_for_their_numbers(word: str, number: int) -> None:
    assert row_of(TRIMMED, "--timestamp", word) == row_of(TRIMMED, "--timestamp", number)


def test_what_only_a_partition_or_only_tiered_storage_knows_is_refused() -> None:
    alone = lookup(first_log(TRIMMED), "--timestamp", "latest")
    assert alone.status == 2 and b"give its directory" in alone.err
    tiered = lookup(TRIMMED, "--timestamp", "latest-tiered")
    assert tiered.status == 3 and b"--remote" in tiered.err and not tiered.out
