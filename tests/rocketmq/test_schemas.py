"""docs/schemas-rocketmq.md lists the fields that rows have, in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rocketmq.cases import SETS, lay_out
from tests.rocketmq.test_commands import json_rows, run

DOC = Path(__file__).resolve().parents[2] / "docs" / "schemas-rocketmq.md"
ASKED = {
    "kidx.rocketmq_lookup.v1": ("lookup", "STORE", "Orders", 0, "--time", 5),
    "kidx.rocketmq_offset.v1": ("lookup", "STORE", "Orders", 0, "--offset", 5),
    "kidx.rocketmq_key.v1": ("lookup", "STORE", "Orders", "--key", "x"),
    "kidx.rocketmq_pull.v1": ("pull", "STORE", "Orders", 0, "--offset", 5, "--memory", 5),
    "kidx.rocketmq_stat.v1": ("stat", "STORE"),
}


@pytest.mark.parametrize("schema", ASKED)
def test_rows_have_the_fields_documented(schema: str, tmp_path: Path) -> None:
    store = lay_out(SETS[-1] / "plain", tmp_path)
    args = [str(store) if a == "STORE" else a for a in ASKED[schema]]
    row = json_rows(run(*args, "--format", "jsonl"))[0]
    section = DOC.read_text().split(f"## {schema}\n", 1)[1].split("\n## ", 1)[0]
    assert list(row) == ["schema", *re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)]
    assert row["schema"] == schema
