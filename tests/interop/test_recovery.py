"""Three damaged replicas become one log dir that a real broker takes as it is, and a consumer reads what is left."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kidx.evidence import open_evidence
from kidx.segments.scan import scan
from tests import damage
from tests.interop.lab import KAFKA, Broker, Program, class_path
from tests.support import kidx

pytestmark = pytest.mark.interop

# What LogLoader, LogSegment and LogManager say when they do not take a log as it is.
WORK = re.compile(
    r"recovering unflushed|no clean shutdown|corrupt|rebuilding index|could not find offset index|orphaned|stray", re.I
)
TIME = 1_700_000_000_000
TOPICS = ("plain", "zipped", "txn", "compacted")


def fill(client: Program, version: str) -> None:
    """Plain and compressed topics, transactions committed, aborted and open, and a topic that is compacted."""
    name = "segment.bytes" if version.startswith("3.") else "internal.segment.bytes"
    configs = f"{name}=30000,index.interval.bytes=1000"
    for topic in TOPICS:
        policy = ",cleanup.policy=compact,min.cleanable.dirty.ratio=0.01" if topic == "compacted" else ""
        client.ask("create", topic, 1, configs + policy)
    client.ask("send", "plain", 0, 900, 300, TIME, 7, "none", 3)
    client.ask("send", "zipped", 0, 900, 300, TIME, 7, "zstd", 5)
    client.ask("send", "compacted", 0, 400, 300, TIME, 7, "lz4", 4)
    for i in range(60):
        client.ask("transaction", f"t{i % 3}", "abort" if i % 3 == 0 else "commit", "txn", 0, 5, 300, TIME + i, 3)
    client.ask("transaction", "long", "open", "txn", 0, 5, 100, TIME, 1)


def read(client: Program) -> dict[tuple[str, str], dict[int, str]]:
    """What consumers get: by topic and isolation level, each record's text by its offset."""
    found = {}
    for topic in TOPICS:
        for isolation in ("read_uncommitted", "read_committed"):
            (text,) = client.ask("contents", topic, 0, 0, isolation)
            records = [record.split(":", 1) for record in text.split(",") if record]
            found[topic, isolation] = {int(offset): rest for offset, rest in records}
    return found


def ranges_left(log_dir: Path, topic: str) -> set[int]:
    """The offsets in batches of a replica that a plain walk from each log's start still reaches with a right CRC."""
    found: set[int] = set()
    for path in log_dir.glob(f"{topic}-0/*.log"):
        with open_evidence(str(path)) as log:
            for window in scan(log):
                for row, batch in enumerate(window.batches()):
                    if row not in (window.bad_crc or []):
                        found.update(range(batch.base_offset, batch.last_offset + 1))
    return found


def hurt(replica: int, log_dir: Path, r: random.Random) -> None:
    """Each replica in its own way: flipped bytes, zeroed ranges, torn and missing segments."""
    for topic in TOPICS:
        logs = sorted(log_dir.glob(f"{topic}-0/*.log"))
        for log in r.sample(logs, min(len(logs), 1 + len(logs) // 3)):
            size = log.stat().st_size
            if size < 400:
                continue
            at = r.randrange(size - 100)
            if replica == 0:
                damage.flip_byte(log, at, 0x41)
            elif replica == 1:
                damage.overwrite(log, at, bytes(min(200, size - at)))
            elif r.random() < 0.5:
                damage.shrink(log, size - at)
            else:
                log.unlink()
    for file in (log_dir / "plain-0").glob("*.index"):
        file.write_bytes(b"\xff" * 24)


@pytest.mark.parametrize("version", [KAFKA, "3.9.1"])
def test_a_broker_starts_on_what_was_recovered(tmp_path: Path, version: str) -> None:
    r = random.Random(3)
    with Broker(tmp_path, version, log_cleaner_backoff_ms=300, log_initial_task_delay_ms=500) as broker:
        client = broker.start()
        fill(client, version)
        before = read(client)
        broker.stop()
        replicas = [tmp_path / f"replica-{n}" for n in range(3)]
        for replica in replicas:
            shutil.copytree(broker.data, replica)
        broker.data.rename(tmp_path / "dead")
        for n, replica in enumerate(replicas):
            hurt(n, replica, r)
        left = {topic: set.union(*(ranges_left(replica, topic) for replica in replicas)) for topic in TOPICS}

        done = kidx("recover", *replicas, "--output", broker.data, "--format", "jsonl")
        assert done.status in (0, 1), done.err
        predicted = kidx("startup", broker.data, "--broker-version", version, "--format", "jsonl")
        partitions = [row for row in predicted.rows if row["schema"] == "kidx.startup_partition.v1"]
        worked = {row["partition"] for row in partitions if row["recovered_segments"]}
        assert (predicted.status, worked) == (0, {"__cluster_metadata-0"})  # which every start recovers

        client = broker.start()
        assert logged_work(broker) == []
        assert "since clean shutdown file was found" in broker.said()
        after = read(client)
        for topic in TOPICS:
            for isolation in ("read_uncommitted", "read_committed"):
                expected = {o: text for o, text in before[topic, isolation].items() if o in left[topic]}
                got = after[topic, isolation]
                assert expected.items() <= got.items(), (topic, isolation)
                assert got.items() <= before[topic, isolation].items(), (topic, isolation)
        for topic in TOPICS:
            client.ask("send", topic, 0, 3, 100, TIME, 1, "none", 1)


def logged_work(broker: Broker) -> list[str]:
    """Lines in which a broker says that it does not take a log as it is. KRaft's own is recovered at every start."""
    return [line for line in broker.said().splitlines() if WORK.search(line) and "__cluster_metadata" not in line]


def reset_offsets(broker: Broker, group: str, csv: Path) -> None:
    """kafka-consumer-groups.sh --reset-offsets --from-file, for a group that nobody is in."""
    tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    words = ["--bootstrap-server", broker.server, "--group", group, "--reset-offsets", "--from-file", csv, "--execute"]
    done = subprocess.run(
        ["java", "-cp", class_path(broker.version), tool, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "Error" not in done.stdout, done.stdout + done.stderr


def test_another_cluster_takes_partitions_and_groups(tmp_path: Path) -> None:
    """As docs/how-to/recover.md and replay.md have it: by --topic-id, and offsets from `kidx state`."""
    with Broker(tmp_path / "old") as old:
        client = old.start()
        client.ask("create", "orders", 1, "internal.segment.bytes=30000")
        client.ask("send", "orders", 0, 300, 300, TIME, 7, "none", 3)
        client.ask("commit-offset", "billing", "orders", 0, 123)
        (before,) = client.ask("contents", "orders", 0, 0, "read_uncommitted")
        old.stop()
    with Broker(tmp_path / "new") as new:
        client = new.start()
        client.ask("create", "orders", 1, "internal.segment.bytes=30000")
        new.stop()
        place = new.data / "orders-0"
        topic_id = (place / "partition.metadata").read_text().split("topic_id: ")[1].strip()
        out = tmp_path / "recovered"
        done = kidx("recover", old.data / "orders-0", "--output", out, "--topic-id", f"orders={topic_id}")
        assert done.status == 0, done.err
        shutil.rmtree(place)
        (out / "orders-0").rename(place)
        assert kidx("startup", new.data).status == 0
        client = new.start()
        assert logged_work(new) == []
        assert client.ask("contents", "orders", 0, 0, "read_uncommitted") == [before]
        resets = tmp_path / "offsets.csv"
        resets.write_bytes(kidx("state", old.data, "--group", "billing", "--format", "reset-offsets").out)
        reset_offsets(new, "billing", resets)
        assert client.ask("group", "billing") == ["orders:0:123"]
