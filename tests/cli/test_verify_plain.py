"""The plain form of `kidx verify` means what click makes of it, whatever the words."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from kidx.cli import verify_run
from kidx.cli.verify import command
from tests.support import FIXTURES


@pytest.mark.parametrize(
    "words",
    [
        ["a"],
        ["a", "b", ""],
        ["--jobs", "2", "a"],
        ["a", "--jobs", "256", "no such *"],
        ["verify", "a=b", "\udcff"],
        ["a", "--jobs", "007"],
        ["--deep", "a"],
        ["--jobs", "1", "a", "--deep", "--deep"],
    ],
)
def test_click_reads_the_same(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def check_all(targets: Any, options: Any, progress: Any) -> Any:
        seen.append((list(targets), options._replace(rules=None)))
        raise KeyError("enough")

    monkeypatch.setattr(verify_run, "check_all", check_all)
    printed: list[Any] = []
    original = verify_run.verify_paths

    def verify_paths(paths: Any, options: Any, jobs: Any = None, **more: Any) -> int:
        printed.append(dict(original.__kwdefaults__ or {}) | more)
        return original(paths, options, jobs, **more)

    monkeypatch.setattr(verify_run, "verify_paths", verify_paths)
    with pytest.raises(KeyError):
        verify_run.run_plainly(list(words))
    with pytest.raises(KeyError), command.make_context("verify", list(words)) as context:
        command.invoke(context)
    assert seen[0] == seen[1]
    assert printed[0] == printed[1]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["-"],
        ["--jobs", "2"],
        ["--jobs"],
        ["a", "--jobs", "0"],
        ["a", "--jobs", "257"],
        ["a", "--jobs", "²"],
        ["a", "--jobs", "1", "--jobs", "2"],
        ["--quick", "a"],
        ["--deep"],
        ["--jobs=2", "a"],
        ["--", "a"],
    ],
)
def test_other_forms_are_clicks(words: list[str]) -> None:
    assert verify_run.run_plainly(words) is None


def test_a_healthy_partition_needs_none_of_the_slow_imports() -> None:
    partition = FIXTURES / "kafka-4.3.1/clean/plain-0"
    slow = {"click", "typing", "re", "pickle", "json", "dataclasses", "inspect", "rich", "numpy.linalg"}
    code = (
        "import sys\nfrom kidx.cli import main\n"
        f"try:\n    main(['verify', '{partition}'])\nfinally:\n    print(*{slow!r} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "\n")
