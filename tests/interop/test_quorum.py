"""kidx state --quorum against three real controllers: one that was killed, and a leader that was cut off."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.interop.lab import KAFKA, Broker, free_ports
from tests.support import kidx

pytestmark = pytest.mark.interop
NODES = (1, 2, 3)


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[dict[int, Broker]]:
    """Three nodes, each broker and controller."""
    ports = dict(zip(NODES, free_ports(3), strict=True))
    voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in ports.items())
    made = {
        node: Broker(tmp_path / f"node{node}", KAFKA, ports[node], node_id=node, controller_quorum_voters=voters)
        for node in NODES
    }
    yield made
    for broker in made.values():
        broker.stop(signal.SIGKILL)


def start(brokers: dict[int, Broker], *nodes: int) -> Any:
    """Start some nodes together, because one alone elects nobody; the client of the first."""
    with ThreadPoolExecutor() as pool:
        clients = list(pool.map(lambda node: brokers[node].start(), nodes))
    return clients[0]


def quorum(brokers: dict[int, Broker]) -> tuple[int, dict[int, dict[str, Any]], int]:
    """The status, a row a node, and the best one."""
    ran = kidx("state", "--quorum", *(broker.data for broker in brokers.values()), "--format", "jsonl")
    rows = {row["node_id"]: row for row in ran.rows}
    return ran.status, rows, next(node for node, row in rows.items() if row["best"])


def test_a_killed_controller_is_behind_and_a_cut_off_leader_diverges(brokers: dict[int, Broker]) -> None:
    client = start(brokers, *NODES)
    client.ask("create", "one", 1, "")
    brokers[3].stop(signal.SIGKILL)
    client.ask("create", "two", 1, "")
    for node in (1, 2):
        brokers[node].stop(signal.SIGKILL)
    status, rows, best = quorum(brokers)
    assert best in (1, 2)
    assert rows[3]["log_end_offset"] < rows[best]["log_end_offset"]
    assert (status, rows[3]["diverges_at"]) == (0, None) and "behind the best copy" in rows[3]["why"]
    assert rows[best]["voters"] == list(NODES)

    start(brokers, *NODES)
    leader = leader_of(brokers)
    followers = [node for node in NODES if node != leader]
    for node in followers:
        brokers[node].send_signal(signal.SIGSTOP)
    time.sleep(2)  # it appends records that nobody copies: one each half second (metadata.max.idle.interval.ms)
    brokers[leader].stop(signal.SIGKILL)
    for node in followers:
        brokers[node].send_signal(signal.SIGCONT)
    deadline = time.monotonic() + 60
    while leader_of(brokers, followers) == leader and time.monotonic() < deadline:
        time.sleep(0.5)
    time.sleep(2)
    for node in followers:
        brokers[node].stop(signal.SIGKILL)
    status, rows, best = quorum(brokers)
    cut = rows[leader]["diverges_at"]
    assert status == 1 and best in followers and cut is not None
    assert cut < rows[leader]["log_end_offset"] and rows[leader]["last_epoch"] < rows[best]["last_epoch"]

    start(brokers, *NODES)
    time.sleep(3)
    for broker in brokers.values():
        broker.stop(signal.SIGKILL)
    status, rows, best = quorum(brokers)
    assert (status, [row["diverges_at"] for row in rows.values()]) == (0, [None] * 3)
    assert f"Truncated to offset {cut}" in brokers[leader].said() or f"to offset {cut}" in brokers[leader].said()


def leader_of(brokers: dict[int, Broker], nodes: Any = NODES) -> int:
    """The leader of the newest epoch, by the nodes' quorum-state files."""
    _, rows, _ = quorum(brokers)
    newest = max((rows[node] for node in nodes), key=lambda row: row["leader_epoch"])
    leader: int = newest["leader_id"]
    return leader
