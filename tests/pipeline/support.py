"""What the pipeline's tests share. Without the extra no module of this room is imported (see conftest.py)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from kidx.checks.engine.options import Options
from kidx.checks.engine.targets import Target, targets_of
from kidx.checks.subjects.log_dirs import LogDirs
from kidx.pipeline.listing import unit_row
from kidx.pipeline.tasks import check_unit
from tests.support import KAFKA_SETS, Ran

SET = KAFKA_SETS[0]
NOW = 1_800_000_000_000


def writable(source: Path, target: Path) -> Path:
    """A copy to damage."""
    shutil.copytree(source, target)
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target


def batch_starts(log: bytes) -> list[int]:
    """Where batches start, walked in the plainest way."""
    starts, at = [], 0
    while at + 12 <= len(log):
        starts.append(at)
        at += 12 + int.from_bytes(log[at + 8 : at + 12], "big")
    return starts


def other_crc(path: Path, batch: int) -> int:
    """Give a batch another CRC field; its base offset."""
    data = bytearray(path.read_bytes())
    at = batch_starts(data)[batch]
    data[at + 17] ^= 1
    path.write_bytes(data)
    return int.from_bytes(data[at : at + 8], "big")


def in_the_future(path: Path, timestamp: int) -> None:
    """Give a log's first batch another largest timestamp, with the CRC that goes with it."""
    from kidx.formats.checksums import crc32c

    data = bytearray(path.read_bytes())
    data[35:43] = timestamp.to_bytes(8, "big")
    end = 12 + int.from_bytes(data[8:12], "big")
    data[17:21] = crc32c(bytes(data[21:end])).to_bytes(4, "big")
    path.write_bytes(data)


def kidx_process(*args: object, cwd: Path | None = None) -> Ran:
    """Run kidx in a process of its own: a scan starts a Spark session, of which a process has one at a time."""
    command = [sys.executable, "-m", "kidx", *map(str, args)]
    environment = {**os.environ, "COLUMNS": "200"}
    ran = subprocess.run(command, cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, env=environment, check=False)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def units_of(*paths: str | Path, options: Options | None = None) -> list[dict[str, Any]]:
    """The rows of listing.UNIT for paths, in order, made without Spark; no other directory has the same partition."""
    log_dirs = LogDirs()
    targets = [target for target in targets_of(map(str, paths)) if isinstance(target, Target)]
    return [unit_row(0, target, options or Options(), log_dirs) | {"compared": False} for target in targets]


def checked_unit(unit: dict[str, Any], now_ms: int = NOW, **options: Any) -> dict[str, Any]:
    """A unit's row of RESULT."""
    return check_unit(unit, Options(**options), LogDirs(), now_ms)
