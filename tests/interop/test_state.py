"""`kidx state` of a copied log dir compared with the answers of the broker's admin client."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.interop.lab import Broker, Program, scratch_copy
from tests.support import kidx

pytestmark = pytest.mark.interop
ASKED = ("offsets", "topics", "configs", "quotas", "scrams", "features", "transactions")


def act(admin: Program) -> None:
    """Commits of several groups, in transactions too; topics, configurations, quotas, users."""
    for topic, partitions in (("orders", 3), ("x", 1), ("gone", 2)):
        admin.ask("create", topic, partitions)
    admin.ask("commit", "readers", "orders", 0, 10)
    admin.ask("commit", "readers", "orders", 1, 11)
    admin.ask("commit", "readers", "orders", 0, 20)
    admin.ask("commit", "writers", "x", 0, 5)
    admin.ask("commit", "deleted", "orders", 2, 7)
    admin.ask("transaction", "a", "exact", "orders", 0, 100, "commit")
    admin.ask("transaction", "b", "exact", "orders", 1, 200, "abort")
    admin.ask("transaction", "c", "exact", "orders", 0, 300, "abort")
    admin.ask("transaction", "d", "exact", "orders", 2, 400, "commit")
    admin.ask("config", "orders", "retention.ms", 1234)
    admin.ask("config", "orders", "segment.bytes", 1048576)
    admin.ask("config", "gone", "retention.ms", 99)
    admin.ask("quota", "u", "producer_byte_rate", 1000)
    admin.ask("quota", "v", "request_percentage", 12.5)
    admin.ask("scram", "u", 4096)


def act_again(admin: Program) -> None:
    """What changes all of that."""
    admin.ask("commit", "readers", "orders", 1, 12)
    admin.ask("transaction", "a", "exact", "orders", 0, 101, "commit")
    admin.ask("transaction", "open", "exact", "orders", 0, 999, "open")
    admin.ask("delete-group", "deleted")
    admin.ask("delete-topic", "gone")
    admin.ask("grow", "x", 4)
    admin.ask("config", "orders", "retention.ms", "")
    admin.ask("config", "x", "cleanup.policy", "compact")
    admin.ask("quota", "u", "producer_byte_rate", "")


def said_by(admin: Program) -> dict[str, list[str]]:
    return {what: [entry for entry in admin.ask(what)[0].split(";") if entry] for what in ASKED}


def rows(directory: Path, *options: object) -> dict[str, list[dict[str, Any]]]:
    ran = kidx("state", directory, "--format", "jsonl", *options)
    assert (ran.status, ran.err) == (0, b"")
    found: dict[str, list[dict[str, Any]]] = {}
    for row in ran.rows:
        found.setdefault(row["kind"], []).append({**row["value"], **row["key"]})
    return found


def state_of(data: Path, *, offsets_at: int | None = None, cluster_at: int | None = None) -> dict[str, list[str]]:
    """The same lists, from the files."""
    moments = [() if at is None else ("--at", at) for at in (offsets_at, cluster_at)]
    groups = rows(data / "__consumer_offsets-0", *moments[0])
    cluster = rows(data / "__cluster_metadata-0", *moments[1])
    transactions = rows(data / "__transaction_state-0")
    lists = {
        "offsets": [f"{r['group']} {r['topic']} {r['partition']} {r['offset']}" for r in groups["committed_offset"]],
        "topics": [
            f"{r['topic']} {r['topicId']} {r['partition']} {r['leader']} {len(r['replicas'])} {len(r['isr'])}"
            for r in cluster["partition"]
        ],
        "configs": [
            f"{r['resourceName']} {r['name']} {r['value']}" for r in cluster["config"] if r["resourceType"] == "topic"
        ],
        "quotas": [f"{r['entity']['user']} {r['quota']} {float(r['value'])}" for r in cluster["quota"]],
        "scrams": [f"{r['user']} {r['mechanism']} {r['iterations']}" for r in cluster["scram_user"]],
        "features": [f"{r['feature']} {r['level']}" for r in cluster["feature"]],
        "transactions": [f"{r['transactionalId']} {r['producerId']} {r['state']}" for r in transactions["transaction"]],
    }
    return {what: sorted(entries) for what, entries in lists.items()}


def test_state_is_what_the_admin_client_says(tmp_path: Path) -> None:
    with Broker(tmp_path / "broker") as broker:
        broker.start()
        admin = Program(Path(__file__).with_name("KafkaState.java"), broker.server)
        act(admin)
        time.sleep(1)  # markers are written after a commit has been answered
        first = said_by(admin)
        end = int(admin.ask("end", "__consumer_offsets", 0)[0])
        cluster_end = last_offset(broker.data / "__cluster_metadata-0") + 1
        copied = state_of(scratch_copy(broker.data, tmp_path / "first"))
        assert copied == first
        act_again(admin)
        time.sleep(1)
        second = said_by(admin)
        copy = scratch_copy(broker.data, tmp_path / "second")
        admin.close()
    assert second != first
    assert state_of(copy) == second
    then = state_of(copy, offsets_at=end, cluster_at=cluster_end)
    assert then | {"transactions": []} == first | {"transactions": []}


def last_offset(directory: Path) -> int:
    """The last record's offset in a partition of one segment."""
    log = sorted(directory.glob("*.log"))[-1]
    return int(kidx("dump", "--records", "--tail", 1, "--format", "jsonl", log).rows[-1]["offset"])
