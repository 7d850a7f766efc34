"""Documentation agrees with the code."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from kidx.cli import ENVIRONMENT
from kidx.exit_status import MEANINGS

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = (ROOT / "docs/scripts.md").read_text()
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()


def run(script: str) -> dict[str, object]:
    return runpy.run_path(str(ROOT / "docs" / script))


def test_man_pages_are_fresh() -> None:
    made = run("make_man.py")["manual"]()  # type: ignore[operator]
    kept = {path.name: path.read_text() for path in (ROOT / "man").iterdir()}
    assert kept.keys() == made.keys(), "`make man` writes them anew"
    assert [name for name in made if made[name] != kept[name]] == [], "`make man` writes them anew"


def test_no_line_of_a_man_page_is_a_request_by_accident() -> None:
    known = re.compile(r"\.(TH|SH|TP|PP|B|nf|fi)( |$)")
    for path in (ROOT / "man").iterdir():
        for line in path.read_text().splitlines():
            assert not line.startswith((".", "'")) or known.match(line), (path.name, line)


def test_derived_pages_are_fresh() -> None:
    made = run("make_pages.py")["pages"]()  # type: ignore[operator]
    stale = [name for name, text in made.items() if (ROOT / "docs" / name).read_text() != text]
    assert stale == [], "`make docs` writes them anew"


def test_pictures_of_terminals_say_what_is_printed_now() -> None:
    make = run("make_screens.py")
    for name in make["SCREENS"]:  # type: ignore[attr-defined]
        kept = (ROOT / f"docs/pictures/screen-{name}.svg").read_text()
        assert make["words_of"](kept) == make["words_seen"](name), "`make screens` draws them anew"  # type: ignore[operator]


def test_every_exit_status_and_variable_is_documented() -> None:
    for status, meaning in MEANINGS.items():
        assert f"| {status} | {meaning} |" in SCRIPTS
    for name, meaning in ENVIRONMENT.items():
        assert f"| `{name}` | {meaning} |" in SCRIPTS


def test_architecture_shows_every_room() -> None:
    rooms = {path.name for path in (ROOT / "kidx").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert set(re.findall(r"\| `(\w+)/` \|", ARCHITECTURE)) == rooms
    modules = {path.name for path in (ROOT / "kidx").glob("[a-z]*.py")}
    assert [name for name in modules if f"`{name}`" not in ARCHITECTURE] == []


@pytest.mark.parametrize("page", ["README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))])
def test_links_within_the_project_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    reasons = (ROOT / "docs/dependencies.md").read_text()
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    assert [d for d in wanted if re.split(r"[<>=;\[ ]", d)[0] not in reasons] == []


def test_nothing_refers_to_places_outside_the_project() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("fixtures/**/README.md"), ROOT / "CHANGELOG.md"]
    for path in pages:
        assert not re.search(r"(?<![\w/])(/work/|/root/|/home/|\.\./shared)", path.read_text()), path
