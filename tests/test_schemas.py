"""The fields of every JSON row are those in docs/schemas.md: scripts rely on them, so a change must be deliberate.

`pytest tests/test_schemas.py --refresh` rewrites the page.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support import kidx_here

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/schemas.md"
HEAD = """\
# JSON rows

<!-- Kept by tests/test_schemas.py: `make refresh`. -->

The fields of each row of `--format jsonl` (and `json`), in their order, and a command that prints such rows. Within a
version fields are only added. [schemas-trace.md](schemas-trace.md) describes those of `stat` and `trace`,
[schemas-export.md](schemas-export.md) those of `export`, [formats.md](formats.md) those stored in files; the names of
the others are descriptive and end in the unit.

| schema | fields | printed by |
|---|---|---|
"""
OFFSETS = "__consumer_offsets-0"
TXN = "txn-0/00000000000000000113"
COMMANDS = [
    f"dump {TXN}.index",
    f"dump {TXN}.timeindex",
    f"dump {TXN}.txnindex",
    f"dump {TXN}.snapshot",
    f"dump {TXN}.log",
    f"dump --records {TXN}.log",
    f"dump --decode {OFFSETS}/{0:020}.log",
    f"state {OFFSETS}",
    f"state {OFFSETS} --diff 0 2",
    "state . ../copy --quorum",
    "dump --count --key key-535 txn-0",
    "dump txn-0/leader-epoch-checkpoint",
    "dump txn-0/partition.metadata",
    "dump recovery-point-offset-checkpoint",
    "dump meta.properties",
    "stat txn-0",
    "stat txn-0 --by topic",
    f"lookup --trace-pages {TXN}.index 150",
    f"lookup {TXN}.txnindex --fetch-from 1 --fetch-to 200",
    "lookup txn-0 --offset 120",
    "lookup txn-0 --timestamp 0",
    f"verify {TXN}.index damaged/{TXN[-20:]}.index",
    "verify damaged --statistics",
    "diff txn-0 damaged",
    "startup .",
    "recover . --dry-run",
    "explain KX101",
    f"trace {TXN}.index 150",
    "trace --grow",
    f"trace {TXN}.index --resident",
    f"trace {TXN}.index 150 --observe",
    "rebuild --dry-run damaged",
    "compact txn-0 --plan --now 0",
    "compact txn-0 --plan --now 0 --records",
    "rocketmq stat store",
    "rocketmq dump store/checkpoint",
    "rocketmq lookup store Orders 0 --time 0",
    "rocketmq lookup store Orders --key none",
    "rocketmq pull store Orders 0 --offset 0 --memory 1000",
]


def fields_by_schema(commands: list[str]) -> dict[str, dict[tuple[str, ...], str]]:
    found: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
    for line in commands:
        ran = kidx_here(*line.split(), "--format", "jsonl")
        assert ran.status in (0, 1), (line, ran.err)
        for row in ran.rows:
            schema = row.pop("schema")
            if schema == "kidx.summary.v1":  # each command sums up what it did
                schema += f" of {line.split()[0]}"
            found[schema].setdefault(tuple(row), line)
    return found


@pytest.fixture
def evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log dir with a damaged copy of a segment and a RocketMQ store in it, as the current directory."""
    shutil.copytree(ROOT / "fixtures/kafka-4.3.1/clean", tmp_path / "data")
    shutil.copytree(ROOT / "fixtures/rocketmq-5.5.1/plain/store", tmp_path / "data/store")
    shutil.copytree(tmp_path / "data/__cluster_metadata-0", tmp_path / "copy/__cluster_metadata-0")
    (tmp_path / "data/damaged").mkdir()
    for path in (tmp_path / "data/txn-0").glob(f"{TXN[-20:]}.*"):
        shutil.copy(path, tmp_path / "data/damaged")
    index = tmp_path / "data/damaged" / f"{TXN[-20:]}.index"
    index.write_bytes(index.read_bytes()[:-3])
    monkeypatch.chdir(tmp_path / "data")
    return tmp_path


def test_rows_have_the_fields_that_the_page_says(evidence: Path, request: pytest.FixtureRequest) -> None:
    found = fields_by_schema(COMMANDS)
    uneven = {schema: list(fields) for schema, fields in found.items() if len(fields) > 1}
    assert uneven == {}, "absent is null, never left out"
    rows = [
        f"| {schema} | {', '.join(fields)} | `kidx {line}` |\n"
        for schema, by_fields in sorted(found.items())
        for fields, line in by_fields.items()
    ]
    now = HEAD + "".join(rows)
    if request.config.getoption("--refresh"):
        PAGE.write_text(now)
        return
    assert now == PAGE.read_text()
