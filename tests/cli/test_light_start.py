"""`kidx --help` and look-ups import nothing heavy, so they start about as fast as Click itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import FIXTURES

PAGES = FIXTURES / "kafka-4.3.1" / "clean" / "pages13-0" / "00000000000000000000"
HEAVY = {
    "numpy",
    "rich",
    "pyspark",
    "pyarrow",
    "json",
    "csv",
    "dataclasses",
    "fastcrc",
    "cramjam",
    "importlib.metadata",
}


def imported(*args: object) -> set[str]:
    """The modules that a kidx command imports."""
    code = (
        "import sys, kidx.cli\n"
        "try: kidx.cli.main(sys.argv[1:])\n"
        "except SystemExit as e: assert not e.code, e.code\n"
        "finally: print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["--version"],
        ["lookup", Path(f"{PAGES}.index"), 6656],
        ["lookup", Path(f"{PAGES}.index"), 6656, "--trace-pages", "--search", "both"],
        ["lookup", Path(f"{PAGES}.timeindex"), 1700018075700],
        ["trace", Path(f"{PAGES}.index"), 6656],
        ["trace", "--grow"],
    ],
    ids=lambda args: " ".join(a.suffix if isinstance(a, Path) else str(a) for a in args),
)
def test_nothing_heavy_is_imported(args: list[object]) -> None:
    assert not imported(*args) & HEAVY


def test_a_lookup_imports_only_the_rooms_that_it_uses() -> None:
    rooms = {name for name in imported("lookup", f"{PAGES}.index", 5) if name.startswith("kidx.")}
    unused = ("kidx.checks", "kidx.surgery", "kidx.cleaner", "kidx.rocketmq", "kidx.pipeline", "kidx.segments")
    assert not [room for room in rooms if room.startswith(unused)]
    assert "kidx.logdir.tree" not in rooms and "kidx.report.formats.render" not in rooms


def test_json_is_imported_when_asked_for() -> None:
    assert "json" in imported("lookup", f"{PAGES}.index", 5, "--format", "jsonl")
