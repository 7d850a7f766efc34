"""kidx dump of logs, snapshots and the text files next to them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kidx.evidence import open_evidence
from kidx.formats.batches import COUNT_UNKNOWN
from kidx.segments.walk import walk
from kidx.tables import file_tables, state_files
from kidx.tables.batches import NAMES, batch_table
from kidx.tables.file_tables import LogView, open_table
from kidx.tables.selection import Selection
from tests.damage import append_garbage, overwrite, set_header, shrink
from tests.segments.test_column_reader import many_batches
from tests.support import FIXTURES, answer_files, kidx_here

CLEAN = FIXTURES / "kafka-4.3.1/clean"
TXN = CLEAN / "txn-0/00000000000000000113.log"
MIXED = CLEAN / "mixed-0/00000000000000000000.log"
OLD = FIXTURES / "kafka-2.8.2/old"
BATCH_FIELDS = (
    "position, size, magic, base_offset, last_offset, count, leader_epoch, codec, timestamp_type, base_timestamp, "
    "max_timestamp, producer_id, producer_epoch, base_sequence, transactional, control, delete_horizon, crc, crc_ok"
)
BATCH = BATCH_FIELDS.split(", ")
RECORD = ["offset", "timestamp", "key", "value", "headers", "batch_position", "producer_id", "sequence", "control_type"]


def rows(*args: object) -> list[dict[str, Any]]:
    ran = kidx_here("dump", "--format", "jsonl", *args)
    assert ran.status == 0, ran.err
    return ran.rows


def recorded(log: Path, suffix: str = "") -> str:
    """What DumpLogSegments says of a log."""
    fixture_set = next(p for p in log.parents if p.parent == FIXTURES)
    return answer_files(fixture_set)[f"dump/{log.relative_to(fixture_set)}{suffix}.txt"].decode(errors="replace")


def test_batches_are_those_of_the_tool() -> None:
    lines = [line for line in recorded(TXN).splitlines() if line.startswith("baseOffset")]
    said = [dict(re.findall(r"(\w+): (\S+)", line)) for line in lines]
    found = rows(TXN)
    assert [list(row) for row in found] == [["schema", "file", *BATCH]] * len(said)
    for row, tool in zip(found, said, strict=True):
        assert (row["base_offset"], row["last_offset"]) == (int(tool["baseOffset"]), int(tool["lastOffset"]))
        assert (row["codec"], row["crc"], row["size"]) == (tool["compresscodec"], int(tool["crc"]), int(tool["size"]))
        assert row["crc_ok"] is True and row["timestamp_type"] == "CreateTime"
        assert (str(row["transactional"]).lower(), str(row["control"]).lower()) == (
            tool["isTransactional"],
            tool["isControl"],
        )


def test_old_messages_have_null_where_their_format_has_no_field() -> None:
    (plain, *_), (packed, *_) = (rows("--kind", "log", OLD / name) for name in ("v0-none-0", "v1-gzip-0"))
    assert plain["magic"] == 0 and plain["count"] == 1 and plain["max_timestamp"] is None
    assert packed["magic"] == 1 and packed["count"] is None and packed["max_timestamp"] > 0
    lacking = ["leader_epoch", "producer_id", "producer_epoch", "base_sequence", "transactional", "control"]
    assert {row[field] for row in (plain, packed) for field in lacking} == {None}
    records = rows("--records", "--kind", "log", OLD / "v0-lz4-0")
    assert {row["timestamp"] for row in records} == {row["sequence"] for row in records} == {None}


@pytest.mark.parametrize("topic", ["2.8.2/old/upgraded-0", "4.3.1/clean/txn-0", "4.3.1/compaction/after/compacted-0"])
def test_columns_hold_what_the_batches_say_one_by_one(topic: str) -> None:
    for log in sorted((FIXTURES / f"kafka-{topic}").glob("*.log")):
        with open_evidence(str(log)) as evidence:
            printed = [dict(zip(NAMES, row, strict=True)) for row in batch_table(evidence).rows]
            batches = list(walk(evidence))
        assert [(b.position, b.size, b.magic) for b in batches] == [
            (row["position"], row["size"], row["magic"]) for row in printed
        ]
        for batch, row in zip(batches, printed, strict=True):
            new = batch.magic == 2
            assert (row["base_offset"], row["last_offset"]) == (batch.base_offset, batch.last_offset)
            assert (row["codec"], row["crc"], row["crc_ok"]) == (batch.codec_name, batch.crc, True)
            assert row["timestamp_type"] == (batch.timestamp_type if batch.magic else None)
            assert row["max_timestamp"] == (batch.max_timestamp if batch.magic else None)
            assert row["count"] == (batch.record_count if new or batch.record_count != COUNT_UNKNOWN else None)
            assert row["delete_horizon"] == batch.delete_horizon
            for name in ("leader_epoch", "base_timestamp", "producer_id", "producer_epoch", "base_sequence"):
                assert row[name] == (getattr(batch, name) if new else None), name
            for name in ("transactional", "control"):
                assert row[name] == (getattr(batch, name) if new else None), name


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["--from", "150", "--to", "170"], lambda b: b["last_offset"] >= 150 and b["base_offset"] <= 170),
        (["--from", "time:1700018139400"], lambda b: b["max_timestamp"] >= 1700018139400),
        (["--producer-id", "6"], lambda b: b["producer_id"] == 6),
        (["--producer-id", "0"], lambda b: False),
        (["--leader-epoch", "0", "--producer-epoch", "7"], lambda b: b["producer_epoch"] == 7),
        (["--from", "position:500", "--to", "size:120"], lambda b: b["position"] >= 500 and b["size"] <= 120),
    ],
)
def test_choosing_batches(options: list[str], kept: Any) -> None:
    every = rows(TXN)
    wanted = [b for b in every if kept(b)]
    assert rows(TXN, *options) == wanted
    assert rows(TXN, *options, "--head", "2", "--tail", "1") == (
        wanted if len(wanted) <= 3 else wanted[:2] + wanted[-1:]
    )


def test_records_are_those_of_the_tool() -> None:
    text = recorded(TXN, ".print")
    said = re.findall(r"^\| offset: (\d+) CreateTime: (\d+) .*?(?:key: (\S+) payload: (.*))?$", text, re.MULTILINE)
    found = rows("--records", "--show", "text", TXN)
    assert [list(row)[2:] for row in found] == [RECORD] * len(said)
    for row, (offset, timestamp, key, value) in zip(found, said, strict=True):
        assert (row["offset"], row["timestamp"]) == (int(offset), int(timestamp))
        if key:
            assert (row["key"], row["value"]) == (key, value)
        else:
            assert row["control_type"] in ("COMMIT", "ABORT")


def test_how_bytes_are_shown() -> None:
    shown = {form: rows("--records", "--show", form, MIXED) for form in ("hex", "text", "base64")}
    assert rows("--records", MIXED) == shown["hex"]
    redacted = rows("--records", "--redact", MIXED)
    assert any(row["headers"] for row in redacted) and any(row["key"] is None for row in redacted)
    for hexed, text, based, hidden in zip(*shown.values(), redacted, strict=True):
        for field in ("key", "value"):
            if hexed[field] is None:
                assert text[field] is based[field] is hidden[field] is None
                continue
            data = bytes.fromhex(hexed[field])
            assert text[field] == data.decode("utf-8", "backslashreplace")
            assert base64.b64decode(based[field]) == data
            assert hidden[field] == {"length": len(data), "sha256": hashlib.sha256(data).hexdigest()[:16]}
        assert [h["key"] for h in hexed["headers"]] == [h["key"] for h in hidden["headers"]]


def test_people_get_text_on_one_line_a_record() -> None:
    out = kidx_here("dump", "--records", MIXED).out.decode()
    assert len(out.splitlines()) == 1 + len(rows("--records", MIXED))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out)


def test_choosing_records() -> None:
    every = rows("--records", "--show", "text", TXN)
    assert rows("--key", "key-818", "--show", "text", TXN) == [row for row in every if row["key"] == "key-818"]
    assert [row["offset"] for row in rows("--records", "--from", "120", "--to", "130", TXN)] == [
        row["offset"] for row in every if 120 <= row["offset"] <= 130
    ]
    time = every[9]["timestamp"]
    later = [row["offset"] for row in every if row["timestamp"] >= time]
    assert [row["offset"] for row in rows("--records", "--from", f"time:{time}", TXN)] == later
    assert {row["producer_id"] for row in rows("--records", "--producer-id", "3", TXN)} == {3}
    assert rows("--records", "--show", "text", "--head", "1", "--tail", "2", TXN) == [every[0], *every[-2:]]


def test_batches_behind_damage_are_shown_and_the_gap_is_said(tmp_path: Path) -> None:
    log = Path(shutil.copy(TXN, tmp_path))
    every = rows(log)
    set_header(log, every[3]["position"], length=7)
    ran = kidx_here("dump", "--format", "jsonl", log)
    assert [row["position"] for row in ran.rows] == [row["position"] for row in every if row is not every[3]]
    assert f"break off at byte {every[3]['position']} (no_batch): its length field says 7" in ran.err.decode()
    summary = json.loads(kidx_here("dump", "--format", "json", log).out)["summary"]
    assert (summary["batches"], summary["broken_off"][0]["position"]) == (len(every) - 1, every[3]["position"])


def test_damaged_batches_and_ends(tmp_path: Path) -> None:
    log = Path(shutil.copy(TXN, tmp_path))
    overwrite(log, 75, bytes(8))
    assert [row["crc_ok"] for row in rows(log)][:2] == [False, True]
    ran = kidx_here("dump", "--records", log)
    assert ran.status == 3 and b"the batch at byte 0: gzip" in ran.err
    append_garbage(log, bytes(300))
    assert b"(preallocated): 300 zero bytes and no batch" in kidx_here("dump", log).err
    shrink(log, 310)
    assert b"(torn): it has " in kidx_here("dump", log).err


def test_metadata_snapshots_are_logs() -> None:
    checkpoint = next(CLEAN.rglob("*-*.checkpoint"))
    assert rows("--records", checkpoint)[0]["control_type"] == "SNAPSHOT_HEADER"


def test_producer_snapshots(tmp_path: Path) -> None:
    snapshot = Path(shutil.copy(TXN.with_suffix(".snapshot"), tmp_path))
    said = [dict(re.findall(r"(\w+): (\S+)", line)) for line in recorded(TXN.with_suffix(".snapshot")).splitlines()[1:]]
    found = rows(snapshot)
    fields = "producer_id, producer_epoch, coordinator_epoch, last_sequence, last_offset, offset_delta, timestamp"
    assert list(found[0])[2:] == [*fields.split(", "), "current_txn_first_offset"]
    assert [row["producer_id"] for row in found] == [int(tool["producerId"]) for tool in said]
    assert [row["coordinator_epoch"] for row in found] == [int(tool["coordinatorEpoch"]) for tool in said]
    assert rows("--from", "5", "--to", "6", snapshot) == [row for row in found if row["producer_id"] in (5, 6)]
    hexed = rows("--hex", "--tail", "1", snapshot)[0]
    assert int(hexed["producer_id_hex"].replace(" ", ""), 16) == hexed["producer_id"]
    assert hexed["byte_start"] == snapshot.stat().st_size - 46
    overwrite(snapshot, 9, b"\x09")
    ran = kidx_here("dump", "--format", "jsonl", snapshot)
    assert ran.rows == found
    assert b"does not hold" in ran.err and b"announces 9 entries and holds" in ran.err
    shrink(snapshot, snapshot.stat().st_size - 4)
    assert (ran := kidx_here("dump", snapshot)).status == 3 and b"4 bytes are no producer snapshot" in ran.err


def test_text_files(tmp_path: Path) -> None:
    epochs = Path(shutil.copy(TXN.parent / "leader-epoch-checkpoint", tmp_path))
    assert rows(epochs) == [{"schema": "kidx.leader_epoch.v1", "file": str(epochs), "epoch": 0, "start_offset": 0}]
    overwrite(epochs, 0, b"7")
    assert b"line 1: the version is '7'" in kidx_here("dump", epochs).err
    found = rows(CLEAN / "recovery-point-offset-checkpoint")
    assert {"topic": "txn", "partition": 0}.items() <= next(r for r in found if r["topic"] == "txn").items()
    assert rows("--from", "partition:3", CLEAN / "recovery-point-offset-checkpoint") == [
        row for row in found if row["partition"] >= 3
    ]
    for path, name in ((CLEAN / "meta.properties", "cluster.id"), (TXN.parent / "partition.metadata", "topic_id")):
        assert name in [row["name"] for row in rows(path)]
    assert rows(CLEAN / "__cluster_metadata-0/quorum-state")[0]["schema"] == "kidx.property.v1"
    broken = tmp_path / "quorum-state"
    broken.write_text("[")
    assert kidx_here("dump", broken).status == 3


def test_a_whole_log_dir_in_one_document() -> None:
    document = json.loads(kidx_here("dump", "--format", "json", CLEAN).out)
    kinds = {row["schema"] for row in document["rows"]}
    assert {"kidx.offset_entry.v1", "kidx.batch.v1", "kidx.producer.v1", "kidx.property.v1"} <= kinds
    assert document["schema"] == "kidx.dump.v1"
    assert len(document["summary"]["files"]) > 100


def test_every_kind_has_a_reader() -> None:
    assert set(state_files.TEXT_KINDS) <= set(file_tables.KINDS)


def test_documented_rows_are_those_that_are_printed() -> None:
    text = (Path(__file__).parents[2] / "docs/schemas-dump.md").read_text()
    found = {row["schema"]: row for row in [*rows(CLEAN), *rows("--records", TXN)]}
    for schema, row in found.items():
        assert schema in text
        assert all(f"`{field}`" in text for field in row), schema


@pytest.mark.parametrize("records", [True, False])
def test_the_tail_is_read_from_the_end_and_is_that_of_the_whole(records: bool, tmp_path: Path) -> None:
    log = many_batches(tmp_path)
    options = ["--records"] if records else []
    whole = rows(*options, log)
    for count in (1, 7, len(whole) // 2, len(whole) + 5):
        assert rows(*options, "--tail", count, log) == whole[-count:]
        bound, column = ("offset:700", "offset") if records else ("position:90000", "position")
        before = [row for row in whole if row[column] <= int(bound.partition(":")[2])]
        assert rows(*options, "--tail", count, "--to", bound, log) == before[-count:]
    with open_table(str(log), wanted=Selection(tail=3), view=LogView(records=records)) as table:
        assert len(list(table.rows)) == 3
    assert table.summary is not None and table.summary["batches"] < 1000
