"""Recorded starts of real brokers: the log dirs before each, and what the broker then did (fixtures/pack_starts.py)."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import OWN_FIXTURES

ARCHIVE = OWN_FIXTURES / "starts/recorded.tar.xz"


class RecordedStart(NamedTuple):
    """A scenario: the log dirs as they were, and outcome.json."""

    log_dirs: list[str]
    outcome: dict[str, Any]


@cache
def _home() -> Path:
    home = tempfile.mkdtemp(prefix="kidx-starts-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(home, filter="data")
    return Path(home)


@cache
def _outcomes() -> dict[str, dict[str, Any]]:
    with tarfile.open(ARCHIVE) as archive:
        files = {os.path.dirname(m.name): archive.extractfile(m) for m in archive if m.name.endswith("/outcome.json")}
        return {name: json.load(file) for name, file in files.items() if file}


def names() -> list[str]:
    """Every scenario, as `kafka-4.3.1/clean-as-it-was`."""
    return sorted(_outcomes())


def started_names() -> list[str]:
    """Those in which the broker started."""
    return [name for name in names() if _outcomes()[name]["started"]]


def recorded(name: str) -> RecordedStart:
    """One scenario; its log dirs are shared by all tests, which leave them as they are."""
    home = _home() / name
    log_dirs = sorted(str(p) for p in (home / "before").glob("d?") if p.is_dir())
    return RecordedStart(log_dirs, _outcomes()[name])
