"""Scratch directories of killed scans are removed by the next one; those of living scans and of others are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from kidx.pipeline import session


def test_only_abandoned_directories_of_this_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.tempfile, "gettempdir", lambda: str(tmp_path))
    for name in ("killed", "living", "no-lock"):
        (tmp_path / f"kidx-spark-{name}").mkdir()
    for name in ("killed", "living"):
        (tmp_path / f"kidx-spark-{name}" / "kidx.lock").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kidx.lock").touch()
    (tmp_path / "kidx-spark-link").symlink_to(elsewhere)
    lock = session._lock(tmp_path / "kidx-spark-living" / "kidx.lock")
    assert lock is not None
    session._remove_abandoned()
    os.close(lock)
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "kidx-spark-link", "kidx-spark-living", "kidx-spark-no-lock"]
