"""A real broker takes rebuilt indexes for its own: rebuilds none, serves all that it served, changes no byte."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from tests.interop.lab import Broker, Program
from tests.support import kidx

pytestmark = pytest.mark.interop

# What LogLoader, LogSegment and UnifiedLog say when they do not take the indexes as they are.
DISTRUST = re.compile(r"corrupt|recovering (unflushed )?segment|rebuilding index|could not find offset index", re.I)
INTERVAL = 2000
TIME = 1_700_000_000_000
RECORDS = 6000


def distrust(broker: Broker) -> list[str]:
    """Lines in which a broker says that it rebuilds an index. KRaft's own log is always recovered at start."""
    return [line for line in broker.said().splitlines() if DISTRUST.search(line) and "__cluster_metadata" not in line]


def indexes(data: Path) -> dict[str, bytes]:
    """The indexes below a log dir, by name."""
    return {str(f.relative_to(data)): f.read_bytes() for f in sorted(data.rglob("*index")) if ".kidx" not in str(f)}


def fill(client: Program) -> None:
    """A topic with uneven timestamps in several segments, and one with committed, aborted and open transactions."""
    configs = f"segment.bytes=1048576,index.interval.bytes={INTERVAL}"
    for topic in ("plain", "txn", "short-lived"):
        client.ask("create", topic, 1, configs)
    client.ask("send", "short-lived", 0, 10, 100, TIME, 1, "none", 1)
    client.ask("send", "plain", 0, RECORDS // 2, 500, TIME, 7, "none", 3)
    client.ask("send", "plain", 0, RECORDS // 4, 500, TIME, 7, "none", 1)
    client.ask("send", "plain", 0, RECORDS // 4, 500, TIME + 50_000, 0, "lz4", 20)
    for i in range(40):
        end = "abort" if i % 3 == 0 else "commit"
        client.ask("transaction", f"t{i % 3}", end, "txn", 0, 60, 1000, TIME + i * 1000, 3)
    client.ask("transaction", "long", "open", "txn", 0, 5, 100, TIME, 1)


def everything(client: Program) -> dict[str, list[str]]:
    """All that a consumer can ask: every record from the start, from odd offsets, by time, and what is committed."""
    r = random.Random(1)
    asked = {}
    for topic in ("plain", "txn"):
        asked[f"{topic} all"] = client.ask("fetch", topic, 0, 0, 1_000_000, "read_uncommitted")
        asked[f"{topic} committed"] = client.ask("fetch", topic, 0, 0, 1_000_000, "read_committed")
        end = int(client.ask("offsets", topic, 0)[1])
        for offset in r.sample(range(end), 12):
            asked[f"{topic} from {offset}"] = client.ask("fetch", topic, 0, offset, 1, "read_uncommitted")
        times = [TIME - 1, TIME, TIME + 10**9, *(TIME + r.randrange(60_000) for _ in range(40))]
        asked[f"{topic} times"] = client.ask("times", topic, 0, ",".join(map(str, times)))
    return asked


def gone(data: Path, pattern: str) -> bool:
    """Whether a partition's directory goes within a while: brokers delete in the background."""
    deadline = time.monotonic() + 30
    while list(data.glob(pattern)) and time.monotonic() < deadline:
        time.sleep(0.3)
    return not list(data.glob(pattern))


def test_a_broker_takes_rebuilt_indexes_for_its_own(tmp_path: Path) -> None:
    with Broker(tmp_path, log_segment_delete_delay_ms=0, log_initial_task_delay_ms=500) as broker:
        client = broker.start()
        fill(client)
        expected = everything(client)
        refused = kidx("rebuild", broker.data, "--in-place", "--all")
        assert refused.status == 3 and b"a broker runs on this directory" in refused.err
        broker.stop()

        lost = next(broker.data.glob("plain-0/*.index"))
        lost.unlink()
        client = broker.start()
        assert distrust(broker), "a broker that misses an index should say so, or this test proves nothing"
        broker.stop()

        for i, file in enumerate(sorted(broker.data.rglob("*index"))):
            file.write_bytes([b"", b"\xff" * 24, file.read_bytes()[::-1]][i % 3])
        for file in broker.data.glob("plain-0/*.timeindex"):
            file.unlink()
        assert (broker.data / ".kafka_cleanshutdown").exists()
        done = kidx("rebuild", broker.data, "--in-place", "--index-interval-bytes", INTERVAL)
        assert done.status == 0, done.err
        rebuilt = indexes(broker.data)
        assert sum(map(len, rebuilt.values())) > 10_000

        client = broker.start()
        assert distrust(broker) == []
        assert everything(client) == expected
        client.ask("delete", "short-lived")
        assert gone(broker.data, "short-lived*"), "kidx's backups beside a segment must go with the partition"
        broker.stop()
        kept = {name: data for name, data in rebuilt.items() if name.startswith(("plain", "txn"))}
        after = indexes(broker.data)
        assert {name: after[name] for name in kept} == kept
