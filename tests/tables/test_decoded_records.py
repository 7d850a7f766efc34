"""kidx dump of Kafka's own topics: decoded rows and lines, and the text of DumpLogSegments' decoders."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.damage import overwrite
from tests.state.building import Log, commit, metadata
from tests.support import FIXTURES, dump_texts, kidx, kidx_here

OPTIONS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
    "__share_group_state": "--share-group-state-decoder",
}
TEXTS = [(file, text) for file, options, text in dump_texts() if options == ".decoded"]
SUFFIXES = ("*.log", "*.checkpoint")
LOGS = sorted(p for suffix in SUFFIXES for p in FIXTURES.glob(f"kafka-*/*/__*-[0-9]*/{suffix}"))
FIELDS = ["schema", "file", "offset", "timestamp", "key", "value", "problem"]


def name(value: object) -> str:
    return "/".join(value.relative_to(FIXTURES).parts) if isinstance(value, Path) else ""


@pytest.mark.parametrize(("file", "text"), TEXTS, ids=name)
def test_the_tools_text_byte_for_byte(file: Path, text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    ran = kidx_here("dump", "--format", "kafka", OPTIONS[file.parent.name.rpartition("-")[0]], file.name)
    complaints = ran.err.replace(f"{file.parent.resolve()}/".encode(), b"")
    assert text in (ran.out, ran.out + complaints)


@pytest.mark.parametrize("log", LOGS, ids=name)
def test_every_record_is_decoded(log: Path) -> None:
    ran = kidx_here("dump", "--decode", "--format", "jsonl", log)
    assert (ran.status, ran.err) == (0, b"")
    plain = kidx_here("dump", "--records", "--format", "jsonl", log).rows
    assert [row["offset"] for row in ran.rows] == [row["offset"] for row in plain]
    for row in ran.rows:
        assert list(row) == FIELDS
        assert row["problem"] is None
        assert row["key"]["name"]


def test_there_are_texts_and_logs() -> None:
    assert len(TEXTS) >= 13 and len(LOGS) >= len(TEXTS)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    directory = tmp_path / "__consumer_offsets-3"
    pairs = [commit("g", "t", 0, 5), commit("g \x1b", "t", 1, None), (b"\0\x7fx", b"y"), (None, b"z")]
    Log(directory).add(*pairs).marker(7, committed=True)
    return directory / f"{0:020}.log"


def test_lines_for_people(log: Path) -> None:
    ran = kidx_here("dump", "--decode", log)
    assert [line[8:].strip() for line in ran.out.decode().splitlines()] == [
        "timestamp  record",
        "1700000000000  OffsetCommit group=g topic=t partition=0 -> v3 offset=5 leaderEpoch=-1 "
        'metadata="" commitTimestamp=0',
        '1700000001000  OffsetCommit group="g \\u001b" topic=t partition=1 -> tombstone',
        "1700000002000  undecoded: kind 127 of group records is unknown to Kafka 4.3 key=007f78 value=79",
        "1700000003000  undecoded: the record has no key value=7a",
        "1700000004000  COMMIT version=0 coordinatorEpoch=0",
    ]
    assert ran.status == 0


def test_rows_of_every_kind_of_record(log: Path) -> None:
    good, tombstone, unknown, keyless, marker = kidx_here("dump", "--decode", "--format", "jsonl", log).rows
    assert good["key"] == {
        "type": 1, "name": "OffsetCommit", "version": 0, "data": {"group": "g", "topic": "t", "partition": 0},
    }  # fmt: skip
    assert good["value"]["version"] == 3 and good["value"]["data"]["offset"] == 5
    assert tombstone["value"] is None and tombstone["problem"] is None
    assert (unknown["key"]["bytes"], unknown["value"]["bytes"]) == ("007f78", "79")
    assert unknown["problem"] == "kind 127 of group records is unknown to Kafka 4.3"
    assert keyless["value"]["bytes"] == "7a"
    assert (marker["key"]["name"], marker["value"]["data"]) == ("COMMIT", {"version": 0, "coordinatorEpoch": 0})


def test_every_format(log: Path) -> None:
    rows = kidx_here("dump", "--decode", "--format", "jsonl", log).rows
    whole = json.loads(kidx_here("dump", "--decode", "--format", "json", log).out)
    assert whole["schema"] == "kidx.decoded_record.v1" and whole["rows"] == rows
    table = list(csv.DictReader(kidx_here("dump", "--decode", "--format", "csv", log).out.decode().splitlines()))
    assert [json.loads(row["key"]) for row in table if row["key"]] == [row["key"] for row in rows if row["key"]]
    rich = kidx("dump", "--decode", "--format", "table", log)
    assert b"OffsetCommit" in rich.out and rich.status == 0


def test_ranges_and_ends(log: Path) -> None:
    def offsets(*options: str) -> list[int]:
        return [row["offset"] for row in kidx_here("dump", "--decode", "--format", "jsonl", *options, log).rows]

    assert offsets("--from", "1", "--to", "2") == [1, 2]
    assert offsets("--head", "1", "--tail", "1") == [0, 4]
    assert offsets("--from", "time:1700000003000") == [3, 4]


@pytest.mark.parametrize("said", ["offsets", "consumer_offsets", "__consumer_offsets", "group"])
def test_another_directorys_name(log: Path, said: str) -> None:
    copy = log.parent.rename(log.parent.parent / "copy")
    refused = kidx_here("dump", "--decode", copy / log.name)
    assert refused.status == 2 and b"name the topic with --decoder" in refused.err
    ran = kidx_here("dump", "--decoder", said, "--format", "jsonl", copy / log.name)
    assert ran.rows[0]["key"]["name"] == "OffsetCommit"


def test_a_topic_that_is_none_of_kafkas_own(log: Path) -> None:
    ran = kidx_here("dump", "--decoder", "orders", log)
    assert ran.status == 2 and b"orders is not one of Kafka's own topics: consumer_offsets (offsets)" in ran.err


def test_a_large_log_is_decoded_alike(tmp_path: Path) -> None:
    """Beyond a few MiB records are found by arrays."""
    directory = tmp_path / "__consumer_offsets-0"
    large = Log(directory)
    for i in range(1200):
        large.in_transaction(i, *(commit("g" * 200, "topic" * 9, j, i) for j in range(12))).marker(
            i, committed=i % 2 == 0
        )
    log = directory / f"{0:020}.log"
    assert log.stat().st_size > 4 << 20
    rows = kidx_here("dump", "--decode", "--format", "jsonl", log).rows
    assert [row["offset"] for row in rows] == list(range(1200 * 13))
    assert rows[12]["key"]["name"] == "COMMIT" and rows[25]["key"]["name"] == "ABORT"
    assert [row["value"]["data"]["offset"] for row in rows[:12]] == [0] * 12


def test_a_damaged_batch_says_so_and_the_others_come(tmp_path: Path) -> None:
    directory = tmp_path / "__consumer_offsets-0"
    Log(directory).add(commit("g", "t", 0, 5)).add(commit("g", "t", 0, 6))
    source = directory / f"{0:020}.log"
    overwrite(source, 61, b"\xff\xff\xff")  # the first record's length
    ran = kidx_here("dump", "--decode", "--format", "jsonl", source)
    assert ran.status == 3 and b"the batch at byte 0" in ran.err
    assert [row["offset"] for row in ran.rows] == [1]


def test_a_metadata_snapshot_is_known_by_its_name(tmp_path: Path) -> None:
    Log(tmp_path).add(metadata("Topic", name="t", topicId=bytes(16)))
    checkpoint = tmp_path / f"{1:020}-0000000001.checkpoint"
    (tmp_path / f"{0:020}.log").rename(checkpoint)
    ran = kidx_here("dump", "--decode", checkpoint)
    assert b"TopicRecord v0 name=t topicId=AAAAAAAAAAAAAAAAAAAAAA" in ran.out
