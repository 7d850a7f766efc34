"""The plain form of `kidx dump` means what click makes of it, whatever the words."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kidx.cli import plain_form
from kidx.cli.dump import command
from kidx.cli.dumping import run
from kidx.cli.dumping.kafka import KafkaOptions
from tests.support import FIXTURES, kidx, kidx_here

INDEX = str(FIXTURES / "kafka-4.3.1/clean/pages14-0/00000000000000000000.index")
NAME = "00000000000000000000.index"


@pytest.mark.parametrize(
    "words",
    [
        ["a"],
        ["a", "b", ""],
        ["--format", "kafka", "a"],
        ["--format", "json", "no such file", "*.index"],
        ["a", "--format", "csv", "dump"],
        ["a=b", "\udcff"],
    ],
)
def test_click_reads_the_same(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run.PLAIN.read(list(words))
    assert plain is not None
    given = command.make_context("dump", list(words)).params
    paths, said = plain
    assert (given["form"], list(given.pop("paths"))) == (said.get("--format", "text"), paths)
    form = given.pop("form")
    assert given.pop("from_file") is None
    seen = []
    monkeypatch.setattr(run.Dump, "inputs", lambda dump, paths: seen.append(dump) or [])
    monkeypatch.setattr(run.Dump, "close", lambda dump: 0)
    assert run.run_plainly(list(words)) == 0
    run.dump_all(paths, form, **given)
    first, second = ({k: v for k, v in vars(dump).items() if k != "kafka"} for dump in seen)
    assert first == second
    kafka = KafkaOptions(**{k: v for k, v in given.items() if k in KafkaOptions._fields})
    assert kafka == KafkaOptions()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["-"],
        ["a", "--iso"],
        ["--format", "kafka"],
        ["a", "--format"],
        ["--format", "table", "a"],
        ["--format", "nonsense", "a"],
        ["--format", "json", "--format", "json", "a"],
        ["--format=kafka", "a"],
        ["--", "a"],
    ],
)
def test_everything_else_is_clicks(words: list[str]) -> None:
    assert run.PLAIN.read(words) is None and run.run_plainly(words) is None
    assert plain_form.run_plainly(["dump", *words]) is None and plain_form.run_plainly(["stat", "a"]) is None


def test_the_forms_are_clicks() -> None:
    form = next(p for p in command.params if p.name == "form")
    assert isinstance(form.type, click.Choice) and set(run.FORMS) <= set(form.type.choices)
    assert form.default == "text"


@pytest.mark.parametrize("form", run.FORMS)
@pytest.mark.parametrize("path", [INDEX, "no such.index", "no name"])
def test_both_ways_print_and_end_alike(form: str, path: str) -> None:
    assert kidx_here("dump", "--format", form, path) == kidx_here("dump", path, "--format", form)


@pytest.mark.parametrize("form", run.FORMS)
def test_small_files_need_neither_click_nor_numpy(form: str) -> None:
    code = (
        "import sys\nfrom kidx.cli import main\n"
        f"try:\n    main(['dump', '--format', '{form}', '{INDEX}'])\n"
        "finally:\n    print([m for m in sys.modules if m.startswith(('click', 'numpy'))], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"[]\n")


@pytest.fixture(scope="module", params=["rising", "wild"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index too large for plain Python, as a broker writes it, and as none does."""
    path = tmp_path_factory.mktemp(request.param) / NAME
    rows = range(1, run_entries := 100_500)
    step = 1 if request.param == "rising" else 2_654_435_761
    numbers = ((n * step + 2**31) % 2**32 - 2**31 if step > 1 else n for n in rows)
    path.write_bytes(b"".join(struct.pack(">ii", n, (n * 700) % 2**31) for n in numbers))
    assert path.stat().st_size == 8 * (run_entries - 1)
    return path


@pytest.mark.parametrize("form", ["kafka", "text", "jsonl"])
def test_large_files_need_neither_click_nor_the_whole_of_numpy(form: str, large: Path) -> None:
    code = (
        "import sys\nfrom kidx.cli import main\n"
        f"try:\n    main(['dump', '--format', '{form}', '{large}'])\n"
        "finally:\n    print(*{'click', 'numpy.linalg', 'inspect'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"\n")
    whole = "import numpy\n" + code
    assert subprocess.run([sys.executable, "-c", whole], capture_output=True, check=False).stdout == done.stdout
    assert done.stdout == kidx("dump", large, "--format", form).out
    entries = struct.iter_unpack(">ii", large.read_bytes())
    if form == "kafka":
        assert done.stdout.split(b"\n", 1)[1].decode() == "".join(f"offset: {o} position: {p}\n" for o, p in entries)
