"""The fixtures are what the table of sources says, and nothing else is there."""

from __future__ import annotations

import runpy
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def test_every_fixture_is_the_one_in_the_table_of_sources() -> None:
    table = (FIXTURES / "SOURCES.tsv").read_text().splitlines()
    made = runpy.run_path(str(FIXTURES / "make_sources.py"))["sources"]().splitlines()
    assert sorted(set(table) ^ set(made)) == []
    assert table == made


def test_the_fixtures_stay_small() -> None:
    assert sum(f.stat().st_size for f in FIXTURES.rglob("*") if f.is_file()) < 23_000_000
