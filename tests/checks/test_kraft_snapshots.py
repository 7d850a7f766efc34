"""KRaft's snapshots: written anew from offset 0, whole, and never preallocated."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests import damage
from tests.checks.conftest import NEWEST, check, grave


def test_zeros_at_the_end_are_no_preallocation(tmp_path: Path) -> None:
    source = next((NEWEST / "clean/__cluster_metadata-0").glob("*.checkpoint"))
    snapshot = Path(shutil.copy(source, tmp_path / source.name))
    damage.zero_tail(snapshot, snapshot.stat().st_size + 100)
    (one,) = grave(check(snapshot))
    assert (one.rule, one.severity) == ("KX312", "error")
