"""What verify leaves out: a baseline, kidx.toml, per-path ignores; and the summary of many findings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.damage import flip_byte
from tests.support import FIXTURES, kidx_here

CLEAN = FIXTURES / "kafka-4.3.1" / "clean"


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """data/ below the working directory, with one damaged index."""
    shutil.copytree(CLEAN / "plain-0", tmp_path / "data" / "plain-0")
    flip_byte(index(tmp_path / "data"), 9)
    monkeypatch.chdir(tmp_path)
    return Path("data")


def index(data: Path) -> Path:
    return sorted((data / "plain-0").glob("*.index"))[0]


def test_a_baseline_leaves_only_what_is_new(damaged: Path) -> None:
    assert kidx_here("verify", damaged, "--write-baseline", "known.json").status == 1
    ran = kidx_here("verify", damaged, "--baseline", "known.json", "--format", "jsonl")
    *findings, summary = ran.rows
    assert (ran.status, findings) == (0, [])
    assert summary["skipped"][-1]["why"] == "left out by --baseline known.json"
    text = kidx_here("verify", damaged, "--baseline", "known.json").out.decode()
    assert "left out by --baseline known.json" in text
    shutil.copytree(damaged / "plain-0", damaged / "plain-1")
    ran = kidx_here("verify", damaged, "--baseline", "known.json", "--format", "jsonl")
    assert ran.status == 1 and {Path(r["file"]).parent.name for r in ran.rows if "file" in r} == {"plain-1"}
    assert kidx_here("verify", damaged, "--write-baseline", "known.json").status == 1, "it may be written anew"
    assert kidx_here("verify", damaged, "--baseline", "known.json").status == 0


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "kidx.baseline.v1", "findings": [1]}', "[" * 100_000])
def test_what_is_no_baseline_is_refused(damaged: Path, content: str) -> None:
    Path("other.json").write_text(content)
    ran = kidx_here("verify", damaged, "--baseline", "other.json")
    assert ran.status == 2 and b"other.json: not a baseline" in ran.err
    if content and "baseline" not in content:
        ran = kidx_here("verify", damaged, "--write-baseline", "other.json")
        assert ran.status == 2 and Path("other.json").read_text() == content
    ran = kidx_here("verify", damaged, "--write-baseline", damaged / "plain-0" / "known.json")
    assert ran.status == 2 and b"Kafka's files are in that directory" in ran.err
    assert kidx_here("verify", damaged, "--baseline", "none.json").status == 3


def test_kidx_toml(damaged: Path) -> None:
    found = {row["rule"] for row in kidx_here("verify", damaged, "--format", "jsonl").rows if "rule" in row}
    Path("kidx.toml").write_text(f"ignore = {json.dumps(sorted(found))}\nfail-level = 'error'")
    ran = kidx_here("verify", damaged)
    assert ran.status == 0 and b"settings from kidx.toml in this directory are in use" in ran.err
    assert b"left out by --select, --ignore or the configuration" in ran.out
    assert kidx_here("verify", damaged, "--no-config").status == 1
    assert kidx_here("verify", damaged, "--ignore", "KX110").status == 1, "the command line comes first"
    Path("kidx.toml").unlink()
    Path("pyproject.toml").write_text(f"[tool.kidx.per-path-ignores]\n'data/plain-*' = {json.dumps(sorted(found))}")
    ran = kidx_here("verify", damaged)
    assert ran.status == 0 and b"left out by per-path-ignores" in ran.out
    Path("other.toml").write_text("[per-path-ignores]\n'data/other-*' = ['KX1']")
    ran = kidx_here("verify", damaged, "--config", "other.toml")
    assert (ran.status, ran.err) == (1, b"")


def test_a_configuration_among_evidence_is_not_used(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (damaged / "plain-0" / "kidx.toml").write_text("select = ['KX110']")
    monkeypatch.chdir(damaged / "plain-0")
    ran = kidx_here("verify", ".")
    assert (ran.status, ran.err) == (1, b"")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a = ", "not TOML"),
        ("a = " + "[" * 100_000, "not TOML"),
        ("colour = 'red'", "there is no setting colour"),
        ("select = 'KX1'", "select must be a list"),
        ("ignore = [1]", "ignore must be a list"),
        ("per-path-ignores = {x = 'KX1'}", "per-path-ignores must be a dict"),
        ("fail-level = 'bad'", "fail-level is one of error, warning, note"),
        ("select = ['KX999']", "KX999: no rule has this code"),
        ("per-path-ignores = {x = ['KX999']}", "KX999: no rule has this code"),
    ],
)
def test_configurations_that_are_refused(damaged: Path, content: str, said: str) -> None:
    Path("kidx.toml").write_text(content)
    ran = kidx_here("verify", damaged)
    assert ran.status == 2 and said in ran.err.decode() and ran.out == b""


def test_many_findings_end_with_a_summary(damaged: Path) -> None:
    for i in range(1, 31):
        shutil.copytree(damaged / "plain-0", damaged / f"topic{i % 25}-{i}")
    lines = kidx_here("verify", damaged).out.decode().splitlines()
    assert lines[-1] == lines[0].removeprefix(f"{damaged}: ")
    assert any(line.endswith(" topic") and "errors" in line for line in lines)
    assert any(line.startswith("and ") and line.endswith("topics more") for line in lines)
    rows = kidx_here("verify", damaged, "--statistics", "--format", "jsonl").rows
    assert all(row["schema"] == "kidx.rule_count.v1" and row["files"] >= 31 for row in rows[:1])
    assert kidx_here("verify", damaged, "--statistics", "--format", "sarif").status == 2


def test_at_most_200_findings_on_a_screen(damaged: Path) -> None:
    for i in range(1, 250):
        shutil.copytree(damaged / "plain-0", damaged / f"topic-{i}", copy_function=shutil.copyfile)
    text = kidx_here("verify", "--quick", damaged).out.decode()
    assert text.count("why: kidx explain") + text.count("\nerror ") + text.count("\nwarning ") >= 200
    blocks = [line for line in text.splitlines() if "  data/" in line and line.startswith(("error", "warning", "note"))]
    assert len(blocks) == 200 and "more: --all shows them" in text


def test_the_report_goes_to_a_file(damaged: Path) -> None:
    to_stdout = kidx_here("verify", damaged, "--format", "sarif")
    ran = kidx_here("verify", damaged, "--format", "sarif", "--output-file", "report.sarif")
    assert (ran.status, ran.out) == (1, b"")
    assert Path("report.sarif").read_bytes() == to_stdout.out
    ran = kidx_here("verify", damaged, "--output-file", damaged / "plain-0" / "report")
    assert ran.status == 2 and b"kidx writes none there" in ran.err
