"""The recorded RocketMQ cases: what a real store wrote and what it answered, laid out as the store left them."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from kidx.rocketmq.open import open_store
from kidx.rocketmq.store import Store
from tests.support import FIXTURES

SETS = [FIXTURES / name for name in ("rocketmq-4.9.8", "rocketmq-5.5.1") if (FIXTURES / name).is_dir()]
CASES = [case for fixtures in SETS for case in sorted(fixtures.iterdir()) if (case / "store").is_dir()]


def name_of(case: Path) -> str:
    """A case's name in test ids."""
    return f"{case.parent.name.removeprefix('rocketmq-')}-{case.name}"


def is_five(case: Path) -> bool:
    """Whether a 5.x store wrote it."""
    return case.parent.name.startswith("rocketmq-5")


def case_named(fixtures: str, name: str) -> Path:
    """A case of a set."""
    return FIXTURES / fixtures / name


def lay_out(case: Path, into: Path) -> Path:
    """Copy a case, its empty directories and file times included, which git cannot keep; the copy's store."""
    copy = into / case.name
    shutil.copytree(case, copy)
    empty = copy / "empty_dirs.txt"
    for line in empty.read_text().split() if empty.exists() else []:
        (copy / line).mkdir(parents=True, exist_ok=True)
    for line in (copy / "mtimes.tsv").read_text().splitlines():
        path, _, ns = line.rpartition("\t")
        if not line.startswith("#"):
            os.utime(copy / path, ns=(int(ns), int(ns)))
    return copy / "store"


def opened(store: Path, mtimes: str = "mtimes.tsv", configured: bool = True) -> Store:
    """A laid-out store, loaded, with its recorded configuration or with what kidx infers."""
    case = store.parent
    config = str(case / "store.properties") if configured else None
    return open_store(str(store), config=config, mtimes=str(case / mtimes))


def rows(path: Path) -> Iterator[dict[str, str]]:
    """A recorded table; none where the case has no such."""
    if path.exists():
        with path.open(newline="", encoding="utf-8") as f:
            yield from csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)
