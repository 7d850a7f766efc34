"""The plain form of `kidx rocketmq verify` means what click makes of it, whatever the words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kidx.cli import rocketmq_verify
from kidx.cli.rocketmq.verify import command
from tests.cli.test_light_start import imported
from tests.rocketmq.test_quiet import mixed_store


@pytest.mark.parametrize(
    "words", [["a"], ["a", "b", ""], ["--jobs", "2", "a"], ["a", "--jobs", "256"], ["verify", "a=b", "\udcff"]]
)
def test_click_reads_the_same(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    defaults = dict(rocketmq_verify.verify_stores.__kwdefaults__ or {})

    def verify_stores(roots: Any, **asked: Any) -> int:
        seen.append((list(roots), defaults | asked))
        return 0

    monkeypatch.setattr(rocketmq_verify, "verify_stores", verify_stores)
    assert rocketmq_verify.run_plainly(list(words)) == 0
    with command.make_context("verify", list(words)) as context:
        command.invoke(context)
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    "words", [[], ["--help"], ["a", "--quick"], ["a", "--format", "json"], ["a", "--jobs", "0"], ["--", "a"]]
)
def test_other_forms_are_clicks(words: list[str]) -> None:
    assert rocketmq_verify.run_plainly(words) is None


def test_a_sound_store_asks_for_neither_click_nor_all_of_numpy(tmp_path: Path) -> None:
    mixed_store(tmp_path, 1)
    modules = imported("rocketmq", "verify", "--jobs", 1, tmp_path)
    assert "numpy" not in modules
    assert not modules & {"click", "numpy.linalg", "typing", "re", "dataclasses"}
