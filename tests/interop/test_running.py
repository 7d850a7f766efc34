"""kidx next to a broker that is being written to: no false findings, and no file that it reads is changed.

How long a producer takes with and without kidx beside it is printed, not asserted.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.interop.lab import Broker, Program
from tests.support import Ran

pytestmark = pytest.mark.interop
ROUNDS, RECORDS = 20, 8000
CONFIGS = "internal.segment.bytes=400000,index.interval.bytes=512,segment.index.bytes=65536"


class Reader:
    """`kidx verify --live` again and again, at the lowest priority, beside whatever is done in the `with`."""

    def __init__(self, directory: Path) -> None:
        kidx = [sys.executable, "-m", "kidx", "verify", "--live", "--jobs", "1", str(directory), "--format", "jsonl"]
        self._command = ["nice", "-n", "19", *kidx]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.runs: list[Ran] = []

    def _run(self) -> None:
        while not self._over.is_set():
            done = subprocess.run(self._command, capture_output=True, check=False)
            self.runs.append(Ran(done.returncode, done.stdout, done.stderr))

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def send(client: Program) -> float:
    """Seconds that some batches take, acknowledged one by one."""
    started = time.monotonic()
    client.ask("send", "busy", 0, RECORDS, 100, 1_700_000_000_000, 1, "none", 10)
    return time.monotonic() - started


def states(directory: Path) -> dict[str, tuple[int, ...]]:
    """What reading could change: inode, size, times, mode of every file."""
    found = {path: path.stat() for path in directory.rglob("*")}
    return {str(p): (s.st_ino, s.st_size, s.st_mtime_ns, s.st_atime_ns, s.st_mode) for p, s in found.items()}


def test_a_broker_that_is_read_while_it_is_written_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(tmp_path) as broker:
        client = broker.start()
        for topic in ("busy", "quiet"):
            client.ask("create", topic, 1, CONFIGS)
        client.ask("send", "quiet", 0, 2000, 100, 1_700_000_000_000, 1, "zstd", 20)
        for _ in range(5):
            send(client)
        before = states(broker.data / "quiet-0")
        alone, beside = [], []
        runs: list[Ran] = []
        for n in range(ROUNDS):
            if n % 2:
                alone.append(send(client))
            with Reader(broker.data) as reader:
                beside.append(send(client))
            runs += reader.runs
            if not n % 2:
                alone.append(send(client))
        assert states(broker.data / "quiet-0") == before
        client.ask("send", "quiet", 0, 100, 100, 1_700_000_000_000, 1, "none", 1)
    bad = [row for run in runs for row in run.rows if row.get("severity") in ("error", "warning")]
    assert bad == [] and {run.status for run in runs} == {0}
    ratio = statistics.median(b / a for a, b in zip(alone, beside, strict=True))
    times = [1000 * statistics.median(all_of) / (RECORDS / 10) for all_of in (alone, beside)]
    with capsys.disabled():
        print(
            f"\nverify --live {len(runs)} times beside {ROUNDS} x {RECORDS // 10} batches on {os.cpu_count()} cores: "
        )
        print(f"a batch took {times[0]:.2f} ms alone, {times[1]:.2f} ms beside it; median of ratios {ratio:.2f}")
