"""The plain form of `kidx rebuild` means what click makes of it, whatever the words."""

from __future__ import annotations

from typing import Any

import pytest

from kidx.cli import rebuild, rebuild_run


@pytest.mark.parametrize(
    "words",
    [
        ["a"],
        ["--output", "out", "a", "b", ""],
        ["--dry-run", "a", "no such *"],
        ["a", "--in-place", "--jobs", "2"],
        ["--output", "", "a=b", "\udcff", "--dry-run"],
        ["--in-place", "--output", "x", "a"],
    ],
)
def test_click_reads_the_same(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    defaults = dict(rebuild_run.rebuild_paths.__kwdefaults__ or {})

    def rebuild_paths(paths: Any, **asked: Any) -> int:
        seen.append((list(paths), defaults | asked))
        return 0

    monkeypatch.setattr(rebuild_run, "rebuild_paths", rebuild_paths)
    monkeypatch.setattr(rebuild, "rebuild_paths", rebuild_paths)
    assert rebuild_run.run_plainly(list(words)) == 0
    with rebuild.command.make_context("rebuild", list(words)) as context:
        assert rebuild.command.invoke(context) == 0
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["-"],
        ["--output", "out"],
        ["a", "--output"],
        ["a", "--output", "-x"],
        ["a", "--output", "x", "--output", "y"],
        ["--index-interval-bytes", "512", "a"],
        ["--output=x", "a"],
        ["--", "a"],
    ],
)
def test_other_forms_are_clicks(words: list[str]) -> None:
    assert rebuild_run.run_plainly(words) is None
