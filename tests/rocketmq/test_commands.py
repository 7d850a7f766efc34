"""The wing's commands as a user runs them: rows, screens, refusals, and evidence left as it was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kidx.cli.rocketmq import command
from kidx.errors import KidxError
from tests.damage import overwrite
from tests.rocketmq.building import make_store
from tests.rocketmq.cases import CASES, SETS, case_named, lay_out, name_of, rows
from tests.support import kidx

PLAIN = SETS[-1] / "plain"


def run(*args: object, stdin: str | None = None) -> Result:
    """Run `kidx rocketmq ...` in this process; errors come back as `exception`."""
    return CliRunner().invoke(command, [str(a) for a in args], input=stdin, standalone_mode=False)


def json_rows(result: Result) -> list[dict[str, Any]]:
    assert result.exception is None, result.exception
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("fixtures", SETS, ids=lambda p: p.name)
def test_lookup_by_time_rows(fixtures: Path, tmp_path: Path) -> None:
    store = lay_out(fixtures / "duplicates", tmp_path)
    recorded = [r for r in rows(fixtures / "duplicates" / "time_search.tsv") if r["topic"] == "Dup"]
    for boundary in sorted({r["boundary"] for r in recorded}):
        asked = [r for r in recorded if r["boundary"] == boundary]
        classic = boundary == "-"
        options = ["--algorithm", "classic"] if classic else ["--boundary", boundary.lower()]
        times = "".join(r["t"] + "\n" for r in asked)
        found = json_rows(
            run("lookup", store, "Dup", 0, "--time", "-", *options, "--trace-pages", "--format", "jsonl", stdin=times)
        )
        assert [str(r["offset"]) for r in found] == [r["answer"] for r in asked]
        assert {r["schema"] for r in found} == {"kidx.rocketmq_lookup.v1"}
        assert {r["boundary"] for r in found} == {None if classic else boundary.lower()}
        for row in found:
            assert row["probes"] and set(row["pages"]) == {"consume_queue", "commit_log", "warm"}


def test_lookup_takes_a_table_of_mtimes(tmp_path: Path) -> None:
    case = case_named("rocketmq-4.9.8", "skew")
    store = lay_out(case, tmp_path)
    answers = {}
    for variant in ("", "_flat", "_reversed"):
        recorded = [r for r in rows(case / f"time_search{variant}.tsv") if r["topic"] == "Skew"]
        mtimes = store.parent / f"mtimes{variant}.tsv"
        args = ["--mtimes", mtimes, *(f"--time={r['t']}" for r in recorded if r["queue"] == "0")]
        found = json_rows(run("lookup", store, "Skew", 0, *args, "--format", "jsonl"))
        answers[variant] = [r["offset"] for r in found]
        assert answers[variant] == [int(r["answer"]) for r in recorded if r["queue"] == "0"]
    assert answers["_flat"] != answers["_reversed"]


def test_what_the_store_throws_is_null_with_a_reason(tmp_path: Path) -> None:
    store = lay_out(case_named("rocketmq-4.9.8", "zero_tail_file"), tmp_path)
    ran = kidx("rocketmq", "lookup", store, "Full", 0, "--time", 2**62, "--format", "jsonl")
    assert ran.status == 3
    assert ran.rows[0]["offset"] is None
    assert "IndexOutOfBoundsException" in ran.rows[0]["why"]
    assert ran.err.decode().startswith("kidx: Full/0 at 4611686018427387904: the store throws IndexOutOfBounds")


def test_lookup_by_offset_and_key(tmp_path: Path) -> None:
    store = lay_out(PLAIN, tmp_path)
    first = json.loads((PLAIN / "consumequeue.jsonl").read_text().splitlines()[0])
    (row,) = json_rows(run("lookup", store, first["topic"], first["queue"], "--offset", 0, "--format", "jsonl"))
    assert [row["commit_log_offset"], row["size"], row["tag_code"]] == [first["phy"], first["size"], first["tagsCode"]]
    assert (row["position"], row["state"], row["pages"]) == (0, "served", [0])
    (past,) = json_rows(run("lookup", store, first["topic"], first["queue"], "--offset", 10**6, "--format", "jsonl"))
    assert (past["state"], past["commit_log_offset"]) == ("past max offset", None)
    asked = next(r for r in rows(PLAIN / "key_lookup.tsv") if r["phyOffsets"])
    args = ["--key", asked["key"], "--begin", asked["begin"], "--end", asked["end"], "--max", asked["max"]]
    (key,) = json_rows(run("lookup", store, asked["topic"], *args, "--format", "jsonl"))
    assert key["schema"] == "kidx.rocketmq_key.v1"
    assert key["commit_log_offsets"] == [int(x) for x in asked["phyOffsets"].split(",")]


def test_trace_screen_shows_both_systems(tmp_path: Path) -> None:
    store = lay_out(PLAIN, tmp_path)
    out = run("lookup", store, "Orders", 0, "--time", 1618699700000, "--trace-pages").stdout
    assert "-> queue offset" in out
    assert "first search (cold):" in out
    assert "Kafka, these messages in one segment" in out


@pytest.mark.parametrize("fixtures", SETS, ids=lambda p: p.name)
def test_pull_rows(fixtures: Path, tmp_path: Path) -> None:
    case = fixtures / "plain"
    store = lay_out(case, tmp_path)
    recorded = list(rows(case / "pull.tsv"))
    for row in recorded[:: max(1, len(recorded) // 25)]:
        asked = ["--offset", row["offset"], "--max-messages", row["maxMsgNums"], "--memory", row["memoryBytes"]]
        (got,) = json_rows(run("pull", store, row["topic"], row["queue"], *asked, "--format", "jsonl"))
        assert got["schema"] == "kidx.rocketmq_pull.v1"
        assert [got["status"], got["next_offset"], got["messages"]] == [
            row["status"],
            int(row["nextBeginOffset"]),
            int(row["messageCount"]),
        ]
        assert got["suggest_slave"] == (row["suggestPullingFromSlave"] == "true")
        physical = [*asked[:-2], "--physical-memory", row["totalMemory"]]
        if row["ratio"] == "40":
            (same,) = json_rows(run("pull", store, row["topic"], row["queue"], *physical, "--format", "jsonl"))
            assert same == got


@pytest.mark.parametrize(("memory", "messages"), [(0, 7), (10**9, 28)], ids=["on disk", "in memory"])
@pytest.mark.parametrize("version", ["4.9.8", "5.5.1"])
def test_pull_stops_at_the_limits_of_bytes(memory: int, messages: int, version: str, tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", range(1000, 1040), 64, body=b"b" * 9000, log_file_bytes=65536)
    args = ["--offset", 0, "--memory", memory, "--broker-version", version]
    (got,) = json_rows(run("pull", store, "T", 0, *args, "--format", "jsonl"))
    assert (got["messages"], got["stopped_by"].split(",")[0]) == (messages, "bytes")
    ahead = messages if version == "4.9.8" else messages - 1  # 4.9 counts from the unit that it turned away
    (unit,) = json_rows(run("lookup", store, "T", 0, "--offset", ahead, "--format", "jsonl"))
    assert got["pulling_offset"] == unit["commit_log_offset"]


def test_pull_screen(tmp_path: Path) -> None:
    out = run("pull", lay_out(PLAIN, tmp_path), "Orders", 0, "--offset", 3, "--memory", 100).stdout
    assert "suggests the slave" in out and "FOUND" in out


@pytest.mark.parametrize("kind", ["queue", "messages", "index", "index_header", "checkpoint"])
def test_dump_kinds(kind: str, tmp_path: Path) -> None:
    store = lay_out(PLAIN, tmp_path)
    found = json_rows(run("dump", store, "--kind", kind, "--format", "jsonl"))
    assert found and all("file" in row for row in found)
    if kind == "messages":
        recorded = [json.loads(line) for line in (PLAIN / "messages.jsonl").read_text().splitlines()]
        assert [r["offset"] for r in found] == [r["phy"] for r in recorded]
        assert all(r["body_crc_ok"] for r in found if r["state"] == "message")
    if kind == "queue":
        recorded = [json.loads(line) for line in (PLAIN / "consumequeue.jsonl").read_text().splitlines()]
        assert [(r["offset"], r["commit_log_offset"]) for r in found] == [(r["offset"], r["phy"]) for r in recorded]


def test_dump_of_ext_batch_and_abort(tmp_path: Path) -> None:
    fives = case_named("rocketmq-5.5.1", "cq_ext").parent
    ext = json_rows(run("dump", lay_out(fives / "cq_ext", tmp_path), "--kind", "ext", "--format", "jsonl"))
    recorded = [json.loads(line) for line in (fives / "cq_ext" / "consumequeue.jsonl").read_text().splitlines()]
    assert [r["bitmap"] for r in ext] == [r["ext"]["bitMap"] for r in recorded if "ext" in r]
    batches = json_rows(
        run("dump", lay_out(fives / "batch_cq", tmp_path), "--kind", "batch_queue", "--format", "jsonl")
    )
    known = [json.loads(line) for line in (fives / "batch_cq" / "consumequeue.jsonl").read_text().splitlines()]
    assert [r["base_offset"] for r in batches] == [r["offset"] for r in known if r["kind"] == "BatchCQ"]
    (abort,) = json_rows(run("dump", lay_out(fives / "unclean", tmp_path) / "abort", "--format", "jsonl"))
    assert abort["unclean"] is True and abort["pid"] > 0


def test_rocksdb_queues_are_refused_and_answered_from_the_log(tmp_path: Path) -> None:
    store = lay_out(case_named("rocketmq-5.5.1", "rocksdb"), tmp_path)
    ran = kidx("rocketmq", "dump", store, "--kind", "queue")
    assert (ran.status, ran.out) == (3, b"")
    assert b"RocksDB" in ran.err
    refused = run("lookup", store, "Rocks", 0, "--offset", 1)
    assert isinstance(refused.exception, KidxError) and "RocksDB" in str(refused.exception)
    asked = kidx("rocketmq", "lookup", store, "Rocks", 0, "--time", 0, "--format", "jsonl")
    assert (asked.status, asked.rows[0]["offset"]) == (0, 0)
    assert b"answered from the commit log" in asked.err
    verified = kidx("rocketmq", "verify", store, "--format", "jsonl")
    assert verified.status == 0
    assert f"{store}/consumequeue" in [one["what"] for one in verified.rows[-1]["skipped"]]


@pytest.mark.parametrize("case", [c for c in CASES if c.name not in ("wrong_length", "zero_length_last")], ids=name_of)
def test_stat_measures_every_store(case: Path, tmp_path: Path) -> None:
    store = lay_out(case, tmp_path)
    found = {(r["what"], r["name"]): r for r in json_rows(run("stat", store, "--format", "jsonl"))}
    recorded = json.loads((case / "queues.json").read_text())
    assert found["commit_log", ""]["max_offset"] == recorded["maxPhyOffset"]
    for known in recorded["queues"]:
        row = found.get(("queue", f"{known['topic']}/{known['queue']}"))
        assert row is None or (row["min_offset"], row["max_offset"]) == (known["minOffset"], known["maxOffset"])


def test_diff_of_a_slave_behind_and_of_one_that_parted(tmp_path: Path) -> None:
    master, slave = lay_out(PLAIN, tmp_path / "m"), lay_out(PLAIN, tmp_path / "s")
    assert run("diff", master, slave).return_value == 0
    newest = max((slave / "commitlog").iterdir())
    size = newest.stat().st_size
    overwrite(newest, 6000, bytes(size - 6000))
    behind = run("diff", master, slave, "--memory", 100, "--format", "jsonl")
    assert behind.return_value == 0
    *different, summary = json_rows(behind)
    assert all(d["allowed"] for d in different)
    assert summary["lag_bytes"] == summary["master_end"] - summary["slave_end"] > 0
    assert summary["slave_suggested_below"] == summary["master_end"] - 100
    overwrite(slave / "commitlog" / f"{0:020d}", 700, b"\xff")
    parted = run("diff", master, slave, "--format", "jsonl")
    assert parted.return_value == 1
    (where,) = [d for d in json_rows(parted) if d.get("allowed") is False]
    assert where["what"] == "commit_log_bytes" and "commit-log offset 700," in where["where"]
    assert "NOT between healthy replicas" in run("diff", master, slave).stdout


@pytest.mark.parametrize("case", [PLAIN, SETS[0] / "unclean_torn"], ids=name_of)
def test_evidence_is_left_as_it_was(case: Path, tmp_path: Path) -> None:
    store = lay_out(case, tmp_path)
    topic = next((store / "consumequeue").iterdir()).name
    before = _everything(store)
    run("verify", store)
    run("stat", store)
    run("dump", store)
    run("lookup", store, topic, 0, "--time", 5, "--trace-pages")
    run("lookup", store, topic, "--key", "x")
    run("pull", store, topic, 0, "--offset", 0, "--memory", 5)
    run("diff", store, store)
    assert _everything(store) == before


def _everything(root: Path) -> list[tuple[str, int, int, str]]:
    found = []
    for path in sorted(root.rglob("*")):
        status = path.stat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found.append((str(path), status.st_size, status.st_mtime_ns, digest))
    return found


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["lookup", "STORE", "Orders", "0"], "one kind of question"),
        (["lookup", "STORE", "Orders", "0", "--time", "1", "--key", "x"], "one kind of question"),
        (["lookup", "STORE", "Orders", "--time", "1"], "TOPIC, QUEUE and either"),
        (["lookup", "STORE", "Orders", "0", "--time", "noon"], "epoch milliseconds"),
        (["lookup", "STORE", "Orders", "0", "--time", "1", "--broker-version", "3.2"], "no RocketMQ version"),
        (["lookup", "STORE", "Orders", "0", "--time", "1", "--mtimes", "STORE/checkpoint"], "path TAB nanoseconds"),
        (["pull", "STORE", "Orders", "0", "--offset", "1"], "either --memory or"),
        (["dump", "STORE/lock"], "do not show what kind of file"),
        (["stat", "STORE/nothing"], "no such file"),
        (["stat", "STORE/config"], "no RocketMQ store"),
        (["verify", "STORE", "--select", "KXR9"], "no rule has this"),
    ],
)
def test_refusals(args: list[str], said: str, tmp_path: Path) -> None:
    store = lay_out(PLAIN, tmp_path)
    (store / "config").mkdir(exist_ok=True)
    (store / "config" / "x").touch()
    result = run(*(a.replace("STORE", str(store)) for a in args))
    assert isinstance(result.exception, KidxError), result.output
    assert said in str(result.exception)


def test_a_config_decides_what_is_the_right_length(tmp_path: Path) -> None:
    store = lay_out(PLAIN, tmp_path)
    config = tmp_path / "broker.conf"
    config.write_text("mappedFileSizeConsumeQueue = 500\n")
    result = run("stat", store, "--config", config)
    assert "has 1000 bytes and the broker's files have 500" in str(result.exception)
    config.write_text("mappedFileSizeConsumeQueue=-1\n")
    assert "positive 32-bit number" in str(run("stat", store, "--config", config).exception)


def test_unreadable_files_are_status_3_and_the_rest_is_checked(tmp_path: Path) -> None:
    store = lay_out(PLAIN, tmp_path)
    index = next((store / "index").iterdir())
    os.rename(index, index.with_name("x"))
    os.mkfifo(index)
    ran = kidx("rocketmq", "verify", store, "--format", "jsonl")
    assert ran.status in (1, 3)
    assert ran.rows[-1]["batches"] > 0


@pytest.mark.parametrize("fixtures", SETS, ids=lambda p: p.name)
def test_stat_of_a_store_without_its_commit_log_is_status_3(fixtures: Path, tmp_path: Path) -> None:
    store = lay_out(fixtures / "plain", tmp_path)
    assert kidx("rocketmq", "stat", store).status == 0
    shutil.rmtree(store / "commitlog")
    ran = kidx("rocketmq", "stat", store)
    assert ran.status == 3 and b"the commit log is missing" in ran.err and ran.out
