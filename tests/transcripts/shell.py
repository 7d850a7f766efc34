"""A reader's shell: what a page of docs/ tells to type is run in a directory that looks like a fresh clone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support import HANG_S, forked_kidx

ROOT = Path(__file__).resolve().parents[2]
PLAIN = re.compile(r"kidx [\w ./:=,@+-]*")  # nothing in it that a shell would change


class Shell:
    """Commands of one session, run one after the other in `home`, where `kidx` is on the path and `fixtures` beside."""

    def __init__(self, home: Path) -> None:
        tools = home / ".tools"
        tools.mkdir()
        (tools / "kidx").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m kidx "$@"\n')
        (tools / "kidx").chmod(0o755)
        (home / "fixtures").symlink_to(ROOT / "fixtures")
        self.home = home
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "KIDX_TRACEBACK")},
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "80",
            "LC_ALL": "C.UTF-8",
        }

    def run(self, command: str) -> Iterator[str]:
        """The lines that a command prints, and `[status N]` where it does not end with 0."""
        with tempfile.TemporaryFile() as output:
            if PLAIN.fullmatch(command):
                streams = output.fileno(), output.fileno()
                status = forked_kidx(command.split()[1:], streams, self.home, self.environment)
            else:
                status = subprocess.run(
                    ["sh", "-c", command],
                    cwd=self.home,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=HANG_S,
                    check=False,
                ).returncode
            output.seek(0)
            yield from output.read().decode().splitlines()
        if status:
            yield f"[status {status}]"


def replayed(block: str, shell: Shell) -> Iterator[str]:
    """A block's `$` commands with what they print now; a command goes on where its line ends with a backslash."""
    lines = iter(block.splitlines())
    for line in lines:
        if line.startswith("$ "):
            typed = [line]
            while typed[-1].endswith("\\"):
                typed.append(next(lines))
            yield from typed
            yield from shell.run("\n".join(typed)[2:])
        elif line.startswith("#"):
            yield line
