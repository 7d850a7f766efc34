"""Completion scripts, and what the shells get to choose from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kidx.cli.exit_status import CLEAN
from kidx.cli.group import LazyGroup, cli
from tests.support import kidx


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_it_can_read(shell: str) -> None:
    ran = kidx("completion", shell)
    assert ran.status == CLEAN
    assert b"_KIDX_COMPLETE" in ran.out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=ran.out, check=True)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kidx ver", {"verify"}),
        ("kidx rocketmq lo", {"lookup"}),
        ("kidx dump --format js", {"json", "jsonl"}),
        ("kidx lookup --search ", {"warm", "standard", "both"}),
        ("kidx completion ", {"bash", "zsh", "fish"}),
        ("kidx verify --fail", {"--fail-level"}),
        ("kidx explain KX10", {f"KX10{n}" for n in range(1, 10)}),
        ("kidx explain zero", {"zero-entry", "zero-tail"}),
        ("kidx explain KXR10", {"KXR101", "KXR102", "KXR103"}),
        ("kidx verify --ignore KX110,torn-e", {"KX110,torn-entry"}),
        ("kidx verify --select kx110", {"KX110"}),
        ("kidx dump --kind off", {"offset_index", "offset_checkpoint"}),
        ("kidx stat --sort ent", {"entries", "entries_a_page"}),
        ("kidx state --kind comm", {"committed_offset"}),
    ],
)
def test_what_bash_is_offered(line: str, offered: set[str]) -> None:
    words = line.split(" ")
    ran = kidx(_KIDX_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    assert {row.partition(",")[2] for row in ran.out.decode().splitlines()} == offered


@pytest.mark.parametrize("command", ["dump", "stat", "lookup", "trace", "verify", "append", "rebuild", "rocketmq stat"])
def test_paths_are_left_to_the_shell(command: str) -> None:
    line = f"kidx {command} orde"
    ran = kidx(_KIDX_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(line.split()) - 1))
    assert ran.out.decode().partition(",")[0] in ("file", "dir")


def test_every_argument_that_is_a_path_is_one_to_the_shell_and_kidx_alone_tries_to_read_it() -> None:
    """click would refuse what it may not read as wrong usage (2), which is kidx's to say (3)."""
    assert isinstance(cli, LazyGroup)
    for words, command, _ in cli.walk():
        for one in command.params:
            named = one.name in ("path", "paths", "file", "partition", "root", "roots") or one.metavar in (
                "FILE",
                "DIR",
            )
            if isinstance(one.type, click.Path):
                assert not one.type.readable, (words, one.name)
            else:
                assert not named, (words, one.name)


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    (tmp_path / "kidx").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kidx "$@"\n')
    (tmp_path / "kidx").chmod(0o755)
    script = (
        f'PATH="{tmp_path}:$PATH"; source <(kidx completion bash); '
        "COMP_WORDS=(kidx expl); COMP_CWORD=1; _kidx_completion kidx expl kidx; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["explain"]
