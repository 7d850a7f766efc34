"""Completion scripts, and what the shells get to choose from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kidx.cli.commands import LazyGroup
from kidx.cli.group import cli, every_command
from kidx.exit_status import CLEAN
from tests.support import HANG_S, kidx


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
    for words, command, _ in every_command(cli):
        for one in command.params:
            named = one.name in ("path", "paths", "file", "partition", "root", "roots") or one.metavar in (
                "FILE",
                "DIR",
            )
            if isinstance(one.type, click.Path):
                assert not one.type.readable, (words, one.name)
            else:
                assert not named, (words, one.name)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a shell that finds kidx on its path, and no settings of anybody's."""
    (tmp_path / "kidx").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kidx "$@"\n')
    (tmp_path / "kidx").chmod(0o755)
    root = str(Path(__file__).parents[2])
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": root, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_with_the_script(environment: dict[str, str]) -> None:
    script = (
        "source <(kidx completion bash); "
        "COMP_WORDS=(kidx expl); COMP_CWORD=1; _kidx_completion kidx expl kidx; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["explain"]


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kidx ver", "verify\tCheck files, directories or trees."),
        ("kidx verify --ignore KX110,torn-e", "KX110,torn-entry\tThe file ends inside an entry"),
        ("kidx verify --format sa", "sarif"),
    ],
)
def test_fish_completes_with_the_script(line: str, offered: str, environment: dict[str, str]) -> None:
    script = f"kidx completion fish | source; complete -C '{line}'"
    done = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.rstrip("\n") == offered


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_completes_with_the_script(environment: dict[str, str]) -> None:
    """In a terminal of zsh's own, for its completion works nowhere else."""
    script = (
        "zmodload zsh/zpty; zpty z zsh -f -i; "
        "zpty -w z 'PS1=; autoload -U compinit; compinit -u -D; source <(kidx completion zsh); print rea''dy'; "
        "zpty -r z out '*ready*'; zpty -n -w z $'kidx verif\\t--fail-l\\terr\\t'; "
        "zpty -r z out '*kidx*verify*--fail-level*error*' && print -r -- found"
    )
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, timeout=HANG_S, env=environment)
    assert "found" in done.stdout, done
