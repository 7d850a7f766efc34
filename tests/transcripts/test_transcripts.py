"""What commands print, kept: each NAME.txt is a session in the fixtures of Kafka 4.3.1, replayed and compared.

A line `$ kidx ...` is run; `% verb file values` damages a scratch copy first, with a verb of tests/damage.py;
`[status N]` closes the output of a command that did not end with 0. `pytest tests/transcripts --refresh` rewrites the
outputs and their quotations in docs/tour.md: the code block after `<!-- transcript NAME -->`.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import damage
from tests.support import kidx

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EVIDENCE = ROOT / "fixtures/kafka-4.3.1"
TRANSCRIPTS = sorted(HERE.glob("*.txt"))
TOUR = ROOT / "docs/tour.md"
QUOTED = re.compile(r"(<!-- transcript ([\w-]+) -->\n```console\n)(.*?)(```\n)", re.DOTALL)


def replayed(session: str, scratch: Path) -> Iterator[str]:
    """The session's lines of input with what they print now."""
    cwd = EVIDENCE
    for line in session.splitlines():
        if line.startswith("% "):
            if cwd != scratch:
                cwd = scratch
                shutil.copytree(EVIDENCE / "clean", scratch / "clean")
            verb, path, *values = shlex.split(line[2:])
            getattr(damage, verb)(cwd / path, *map(int, values))
            yield line
        elif line.startswith("$ kidx "):
            ran = kidx(*shlex.split(line)[2:], cwd=cwd, COLUMNS="80")
            yield line
            yield from (ran.out + ran.err).decode().splitlines()
            if ran.status:
                yield f"[status {ran.status}]"


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_session_prints_what_it_printed(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kept = path.read_text()
    now = "\n".join(replayed(kept, tmp_path)) + "\n"
    if request.config.getoption("--refresh"):
        path.write_text(now)
        return
    assert now == kept


def test_the_tour_quotes_the_sessions_as_they_are(request: pytest.FixtureRequest) -> None:
    page = TOUR.read_text()

    def quote(match: re.Match[str]) -> str:
        return match[1] + (HERE / f"{match[2]}.txt").read_text() + match[4]

    quoted = QUOTED.sub(quote, page)
    if request.config.getoption("--refresh"):
        TOUR.write_text(quoted)
        return
    assert quoted == page
    assert page.count("<!-- transcript ") == len(QUOTED.findall(page)) > 0
