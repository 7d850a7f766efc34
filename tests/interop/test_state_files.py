"""Producer snapshots and leader epochs rebuilt by kidx, next to those that a real broker's recovery wrote."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

import pytest

from kidx.formats.producer_snapshot import parse_snapshot
from kidx.logdir.tree import Partition
from kidx.surgery.state_files import rebuild_state
from tests.interop.lab import KAFKA, Broker
from tests.support import kidx

pytestmark = pytest.mark.interop

OLD = 1_700_000_000_000
PRODUCERS = 40  # more than a java.util.HashMap of 16, 32 buckets holds without collisions


def batches(timestamp: object, count: int) -> str:
    return ";".join(f"{timestamp}:-:{'76' * 400}:" for _ in range(count))


@pytest.mark.parametrize("version", [KAFKA, "3.9.1"])
def test_as_a_recovery_of_the_whole_log(tmp_path: Path, version: str) -> None:
    name = "segment.bytes" if version.startswith("3.") else "internal.segment.bytes"
    with Broker(tmp_path, version) as broker:
        client = broker.start()
        client.ask("create", "orders", 1, f"{name}=14000")
        for n in range(PRODUCERS):  # some were silent for a day, some were not
            client.ask("producer", f"p{n}", "compression.type=none")
            client.ask("batches", f"p{n}", "orders", 0, batches(OLD if n % 3 == 0 else "-", 2))
        for n in range(12):
            client.ask("transaction", f"t{n % 5}", "abort" if n % 4 == 0 else "commit", "orders", 0, 3, 300, OLD + n, 1)
        client.ask("transaction", "long", "open", "orders", 0, 3, 100, OLD, 1)
        broker.stop(signal.SIGKILL)
        for path in [*broker.data.glob("orders-0/*.snapshot"), broker.data / "recovery-point-offset-checkpoint"]:
            path.unlink(missing_ok=True)
        (broker.data / "orders-0/leader-epoch-checkpoint").unlink()
        before = shutil.copytree(broker.data, tmp_path / "before")
        broker.start()
        broker.stop(signal.SIGKILL)
        after = broker.data / "orders-0"
        state = rebuild_state(Partition(str(before / "orders-0")), time.time_ns() // 1_000_000)
        written = {path.name: path.read_bytes() for path in after.glob("*.snapshot")}
        sizes = [len(parse_snapshot(data).producers) for data in written.values()]
        assert len(written) > 3 and max(sizes) > 20
        assert {n: data for n, data in state.files.items() if n.endswith(".snapshot")} == written
        epochs = (after / "leader-epoch-checkpoint").read_text().splitlines()[2:]
        ours = state.files["leader-epoch-checkpoint"].decode().splitlines()[2:]
        assert ours == epochs[: len(ours)] and len(epochs) <= len(ours) + 1  # the new leader's, if it came to that
        assert kidx("rebuild", before, "--in-place", "--state-files").status == 0
        assert kidx("verify", before / "orders-0").status == 0
