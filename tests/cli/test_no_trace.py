"""Reading leaves no trace: bytes, sizes, times and listings stay, for someone who may not write too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from kidx.cli.commands import LazyGroup
from kidx.cli.group import cli, every_command
from tests.support import HANG_S

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"  # the project's own: the lines below name their files
SET = FIXTURES / "kafka-4.3.1"
STORE = FIXTURES / "rocketmq-5.5.1/plain/store"
INDEX = "txn-0/00000000000000000113.index"

# A run, or several, of every command that reads, in a copy of a log dir with a RocketMQ store beside it.
READING = {
    "dump": [f"dump {INDEX}", "dump --format kafka txn-0", "dump --format jsonl ."],
    "export": ["export ."],
    "query": ['query SELECT*FROM"records" .', 'query SELECT*FROM"findings" txn-0'],
    "stat": ["stat .", f"stat {INDEX}"],
    "lookup": [
        f"lookup --trace-pages {INDEX} 150",
        "lookup txn-0/00000000000000000113.txnindex --fetch-from 1 --fetch-to 9",
    ],
    "trace": [f"trace {INDEX} 150", f"trace {INDEX} --workload all"],
    "verify": ["verify .", f"verify {INDEX}", "verify --jobs 1 --live txn-0"],
    "diff": ["diff txn-0 plain-0"],
    "startup": ["startup ."],
    "recover": ["recover --dry-run ."],
    "state": ["state __consumer_offsets-0"],
    "compact": ["compact txn-0 --plan --records"],
    "rocketmq dump": ["rocketmq dump store"],
    "rocketmq stat": ["rocketmq stat store"],
    "rocketmq verify": ["rocketmq verify store"],
    "rocketmq lookup": ["rocketmq lookup store Orders 0 --time 0"],
    "rocketmq pull": ["rocketmq pull store Orders 0 --offset 0 --memory 1000"],
    "rocketmq diff": ["rocketmq diff store store"],
}
WRITING = {"append", "truncate", "trim", "resize", "rebuild", "undo"}
NO_FILES = {"explain", "help", "completion"}
NEED_SQL = ("export", "query")
NEEDS_JAVA = {"scan"}  # its own tests hold the same


def state(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything of every file and directory below that reading must not change."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        stat = path.lstat()
        content: object = None
        if path.is_file():
            with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOATIME", 0)), "rb") as f:
                content = f.read()
        times = (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_atime_ns if path.is_file() else 0)
        found[str(path.relative_to(root))] = (stat.st_size, stat.st_mode, stat.st_ino, times, content)
    return found


@pytest.fixture(scope="module")
def evidence() -> Iterator[Path]:
    """A log dir and a store that nobody may write to, their files last read before they were written."""
    root = Path(tempfile.mkdtemp(prefix="kidx-test-"))
    shutil.copytree(SET / "live", root / "data")
    shutil.copytree(SET / "clean/__consumer_offsets-0", root / "data" / "__consumer_offsets-0")
    shutil.copytree(STORE, root / "data" / "store")
    for path in sorted(root.rglob("*"), reverse=True):
        if path.is_file():
            os.utime(path, (1_700_000_000, 1_700_000_001))
        path.chmod(0o555 if path.is_dir() else 0o444)
    root.chmod(0o555)
    yield root
    for path in [root, *root.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(root)


def test_every_command_reads_writes_or_has_no_files() -> None:
    assert isinstance(cli, LazyGroup)
    words = {name for name, command, _ in every_command(cli) if not isinstance(command, click.Group)}
    assert words - READING.keys() - WRITING - NO_FILES - NEEDS_JAVA == set()


@pytest.mark.parametrize("line", [line for lines in READING.values() for line in lines])
def test_reading_leaves_no_trace(evidence: Path, line: str) -> None:
    if line.startswith(NEED_SQL) and not (find_spec("pyarrow") and find_spec("duckdb")):
        pytest.skip("needs the extra: pip install 'kidx[sql]'")
    before = state(evidence)
    # Root may override permissions; without that capability it is like anybody else.
    bound = (
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 and shutil.which("setpriv") else []
    )
    done = subprocess.run(
        [*bound, sys.executable, "-m", "kidx", *line.split()],
        cwd=evidence / "data",
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=HANG_S,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr[-2000:]
    assert state(evidence) == before
