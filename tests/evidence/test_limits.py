"""Small files are read as a whole, so each kind has a largest size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kidx.errors import TooLarge
from kidx.evidence import read_file
from kidx.evidence.limits import small_file_limit

NAMES = (
    "replication-offset-checkpoint", "leader-epoch-checkpoint", "meta.properties", "partition.metadata", "quorum-state",
    "00000000000000000000.snapshot", "journal.jsonl",
)  # fmt: skip

KINDS = {"00000000000000000000.snapshot": "producer snapshots", "replication-offset-checkpoint": "offset checkpoints"}


@pytest.mark.parametrize("name", NAMES)
def test_a_file_beyond_its_limit_is_not_read(tmp_path: Path, name: str) -> None:
    path, limit = tmp_path / name, small_file_limit(name)
    assert 1 << 16 <= limit <= 16 << 20
    path.touch()
    os.truncate(path, limit)
    assert len(read_file(str(path))) == limit
    os.truncate(path, limit + 1)
    with pytest.raises(TooLarge, match=f"{limit + 1:,} bytes; kidx reads at most {limit:,}"):
        read_file(str(path))


def test_the_documentation_has_the_limits() -> None:
    text = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    for name in NAMES:
        limit = small_file_limit(name)
        shown = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"
        kind = {
            "00000000000000000000.snapshot": "producer snapshots",
            "replication-offset-checkpoint": "offset checkpoints",
        }
        line = next(line for line in text.splitlines() if line.startswith("|") and kind.get(name, name) in line)
        assert f"| {shown}: " in line
