"""Every command on a page of docs/ is run, a page being one session, and its output is what the page says.

`pytest tests/transcripts --refresh` rewrites the pages' blocks.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.transcripts.shell import ROOT, Shell, replayed

BLOCK = re.compile(r"(?<!-->\n)(```console\n)(.*?)(```\n)", re.DOTALL)
PAGES = [path for path in sorted(ROOT.glob("docs/**/*.md")) if "```console\n" in path.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_a_page_prints_what_it_says(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kept = page.read_text()
    if "$ kidx scan" in kept and not find_spec("pyspark"):
        pytest.skip("needs the extra: pip install 'kidx[spark]'")
    if re.search(r"\$ kidx (export|query)", kept) and not (find_spec("pyarrow") and find_spec("duckdb")):
        pytest.skip("needs the extra: pip install 'kidx[sql]'")
    shell = Shell(tmp_path)
    now = BLOCK.sub(lambda match: match[1] + "\n".join(replayed(match[2], shell)) + "\n" + match[3], kept)
    if request.config.getoption("--refresh"):
        page.write_text(now)
        return
    assert now == kept
