"""The command line's frame: help, statuses, streams. Every command is looked at, those of later days too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module

import click
import pytest

from kidx import __version__
from kidx.cli.commands import LazyGroup
from kidx.cli.group import COMMANDS, cli, every_command
from kidx.exit_status import BUG, CLEAN, INTERRUPTED, UNREADABLE, USAGE
from tests.support import FIXTURES, HANG_S, kidx

INDEX = FIXTURES / "kafka-4.3.1/clean/pages14-0/00000000000000000000.index"
KIDX = f"{sys.executable} -m kidx"


assert isinstance(cli, LazyGroup)
EVERY_COMMAND = {words: command for words, command, _ in every_command(cli) if not isinstance(command, click.Group)}


@pytest.mark.parametrize("words", EVERY_COMMAND)
def test_every_command_has_help_with_examples(words: str) -> None:
    command = EVERY_COMMAND[words]
    assert command.help
    assert command.epilog and "Examples:" in command.epilog
    assert f"kidx {words}" in command.epilog
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{words} {parameter.opts[0]} says nothing"


@pytest.mark.parametrize("words", EVERY_COMMAND)
def test_help_reads_well_on_a_terminal_of_80_columns(words: str) -> None:
    command = EVERY_COMMAND[words]
    text = command.get_help(click.Context(command, info_name=f"kidx {words}", terminal_width=80))
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert not re.search(r"\b(INTEGER|FLOAT|RANGE)\b|<=x", text), "a value is named by what it counts"
    assert (command.help or "").split("\n\n")[0].rstrip().endswith("."), "a sentence comes first"


def test_options_of_one_use_have_a_heading_of_their_own() -> None:
    text = kidx("dump", "--help").out.decode()
    plain, _, kafka = text.partition("Options of --format kafka, DumpLogSegments' own:")
    assert "--print-data-log" in kafka and "--print-data-log" not in plain
    assert "kafka: " not in text and "Logs: " not in text
    assert "--simulate: " not in kidx("trace", "--help").out.decode()


@pytest.mark.parametrize("words", EVERY_COMMAND)
def test_no_argument_of_any_kind_makes_a_command_fail_without_a_sentence(words: str) -> None:
    for wrong in (["--no-such-option"], ["--format"], ["--format", "no-such-format"]):
        ran = kidx(*words.split(), *wrong)
        assert ran.status == USAGE, ran
        assert ran.err.startswith(b"kidx: ") and ran.err.count(b"\n") == 1, ran.err
        assert ran.err.endswith((b"--help\n", b"?\n"))


def test_the_commands_list_and_the_commands_agree() -> None:
    for name, (module, said) in COMMANDS.items():
        assert said.endswith(".") and len(said) <= 80
        assert isinstance(import_module(module).command, click.Command), name


def test_version() -> None:
    assert kidx("--version").out.decode().strip() == f"kidx, version {__version__}"


def shell(line: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """A line of sh with $KIDX and $INDEX."""
    variables = {**os.environ, "KIDX": KIDX, "INDEX": str(INDEX), **env}
    return subprocess.run(["sh", "-c", line], capture_output=True, timeout=HANG_S, env=variables, check=False)


@pytest.mark.parametrize("command", ["dump $INDEX", "dump --format jsonl $INDEX", "--help", "dump --help"])
def test_a_reader_that_goes_away_ends_it_quietly(command: str) -> None:
    done = shell(f"{{ $KIDX {command}; echo $? >&2; }} | true")
    assert done.stderr == b"0\n"
    done = shell(f"{{ $KIDX {command}; echo $? >&2; }} | head -n 1")
    assert done.stderr == b"0\n"


@pytest.mark.parametrize("command", ["dump $INDEX", "dump --format jsonl $INDEX", "--help"])
def test_a_full_disk_is_said(command: str) -> None:
    done = shell(f"$KIDX {command} > /dev/full")
    assert done.returncode == UNREADABLE
    assert done.stderr == b"kidx: standard output: no space left on device\n"


def test_closed_streams_discard_what_is_said() -> None:
    assert shell("$KIDX dump $INDEX >&-").returncode == CLEAN
    assert shell("$KIDX dump 00000000000000000000.index 2>&-").returncode == UNREADABLE
    assert shell("$KIDX dump 00000000000000000000.index >&- 2>&-").returncode == UNREADABLE
    assert shell("$KIDX nonsense 2>&-").returncode == USAGE
    assert shell("$KIDX dump $INDEX <&-").returncode == CLEAN


def test_ctrl_c_ends_with_130_and_no_traceback() -> None:
    code = (
        "import os, signal, sys\nfrom kidx.cli import main\nimport kidx.evidence.local\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # jobs in the background ignore it
        "kidx.evidence.local._read_stream = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "main(['dump', '--kind', 'offset_index', '--base-offset', '0', '-'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == INTERRUPTED
    assert b"Traceback" not in done.stderr


def test_a_bug_is_no_verdict_and_shows_its_traceback_only_when_asked() -> None:
    code = (
        "import kidx.cli, kidx.evidence\n"
        "def broken(*_): raise ZeroDivisionError('made for a test')\n"
        "kidx.evidence.local._read_stream = broken\n"
        "kidx.cli.main(['dump', '--kind', 'offset_index', '--base-offset', '0', '-'])"
    )
    for asked in ("", "1"):
        env = {**os.environ, "KIDX_TRACEBACK": asked}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=False)
        assert done.returncode == BUG
        assert b"kidx: a bug in kidx itself: ZeroDivisionError: made for a test" in done.stderr
        assert (b"Traceback" in done.stderr) is bool(asked)


def test_output_is_utf_8_in_every_locale() -> None:
    done = shell("$KIDX lookup --trace-pages $INDEX 7168", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == CLEAN
    assert done.stdout == shell("$KIDX lookup --trace-pages $INDEX 7168", LC_ALL="C.UTF-8").stdout


def test_help_as_a_command() -> None:
    assert kidx("help").out == kidx("--help").out
    assert kidx("help", "dump").out == kidx("dump", "--help").out
    assert kidx("help", "rocketmq", "lookup").out == kidx("rocketmq", "lookup", "--help").out
    ran = kidx("help", "vrify")
    assert ran.status == 2 and b"did you mean 'verify'?" in ran.err
    ran = kidx("help", "dump", "log")
    assert ran.status == 2 and b"kidx dump has no commands" in ran.err
