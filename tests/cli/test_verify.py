"""`kidx verify` and `kidx explain` as a user runs them: formats, statuses, what is said where."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kidx.checks.catalogue import RULES
from tests import damage
from tests.support import FIXTURES, kidx

CLEAN = FIXTURES / "kafka-4.3.1" / "clean"
NAME = f"{0:020d}"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    partition = Path(shutil.copytree(CLEAN / "plain-0", tmp_path / "plain-0"))
    damage.swap_entries(partition / f"{NAME}.index", 2, 3)
    return partition


def test_clean_is_status_0_and_says_what_was_checked() -> None:
    ran = kidx("verify", CLEAN / "plain-0")
    assert (ran.status, ran.err) == (0, b"")
    first, *_, last = ran.out.decode().splitlines()
    assert first == f"{CLEAN / 'plain-0'}: clean"
    assert last.startswith("checked 10 files") and last.endswith("nothing skipped.")


def test_a_finding_is_status_1_and_told_with_its_place_and_its_broker(damaged: Path) -> None:
    ran = kidx("verify", damaged)
    said = ran.out.decode()
    assert ran.status == 1
    assert "error   KX105 offset-order" in said
    assert "entry 3 (bytes 24-31)" in said
    assert "broker: " in said and "repair: kidx rebuild" in said and "why: kidx explain KX105" in said
    assert "\x1b" not in said
    assert "\x1b" in kidx("verify", "--color", "always", damaged).out.decode()


def test_rows_keep_the_interface(damaged: Path) -> None:
    ran = kidx("verify", damaged, "--format", "jsonl")
    *findings, summary = ran.rows
    names = [
        "schema",
        "rule",
        "severity",
        "file",
        "byte_start",
        "byte_end",
        "slot",
        "expected",
        "found",
        "message",
        "broker",
    ]
    assert [list(f) for f in findings] == [names] * len(findings)
    assert list(summary) == [
        "schema", "files", "entries", "batches", "bytes_checked", "bytes_skipped", "skipped", "findings", "unreadable",
        "exit_status",
    ]  # fmt: skip
    assert summary["schema"] == "kidx.summary.v1"
    assert summary["exit_status"] == ran.status == 1
    assert summary["findings"] == {"error": len(findings), "warning": 0, "note": 0}
    whole = json.loads(kidx("verify", damaged, "--format", "json").out)
    assert whole["rows"] == findings
    assert whole["summary"] == summary


def test_files_are_named_as_they_were_given(damaged: Path) -> None:
    for path, name in ((".", f"./plain-0/{NAME}.index"), ("plain-0", f"plain-0/{NAME}.index")):
        rows = kidx("verify", path, "--format", "jsonl", cwd=damaged.parent).rows
        assert [r["file"] for r in rows[:-1]] == [name]
    for path in (f"{NAME}.index", f"./{NAME}.index", f"../plain-0/{NAME}.index"):
        rows = kidx("verify", path, "--format", "jsonl", cwd=damaged).rows
        assert [r["file"] for r in rows[:-1]] == [path]


def test_select_ignore_and_fail_level(damaged: Path) -> None:
    assert kidx("verify", damaged, "--ignore", "KX105").status == 0
    assert kidx("verify", damaged, "--ignore", "offset-order,KX9").status == 2
    assert kidx("verify", damaged, "--select", "KX2").status == 0
    assert kidx("verify", damaged, "--select", "KX1").status == 1
    live = FIXTURES / "kafka-4.3.1" / "live" / "plain-0"
    assert kidx("verify", live).status == 0
    assert kidx("verify", live, "--fail-level", "note").status == 1


def test_junit_sarif_and_github(damaged: Path) -> None:
    junit = ElementTree.fromstring(kidx("verify", damaged, "--format", "junit").out)
    suite = junit.find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "1"
    assert [c.get("type") for c in suite.iter("failure")] == ["KX105"]
    sarif = json.loads(kidx("verify", damaged, "--format", "sarif").out)
    (result,) = sarif["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("KX105", "error")
    assert result["locations"][0]["physicalLocation"]["region"] == {"byteOffset": 24, "byteLength": 8}
    first, *_ = kidx("verify", damaged, "--format", "github").out.decode().splitlines()
    assert first.startswith(f"::error file={damaged / f'{NAME}.index'},title=KX105 offset-order::")


def test_what_cannot_be_read_is_status_3_whatever_else_was_found(damaged: Path) -> None:
    ran = kidx("verify", damaged, damaged / "missing.index", "--format", "jsonl")
    assert ran.status == 3
    assert b"missing.index" in ran.err
    assert ran.rows[-1]["unreadable"] == 1
    assert len(ran.rows) == 2
    assert kidx("verify", "/etc/hostname").status == 3
    assert kidx("verify").status == 2
    os.mkfifo(damaged / f"{5:020d}.index")
    assert kidx("verify", damaged / f"{5:020d}.index").status == 3


def test_a_directory_without_kafkas_files_is_not_clean(tmp_path: Path) -> None:
    ran = kidx("verify", tmp_path)
    assert ran.status == 3
    assert b"nothing was checked" in ran.out


def test_a_name_without_a_base_offset_needs_one(damaged: Path) -> None:
    loose = damaged / "orders.index"
    (damaged / f"{NAME}.index").rename(loose)
    assert b"--base-offset" in kidx("verify", loose).err
    assert kidx("verify", loose, "--base-offset", "0").status == 1


def test_standard_input_needs_to_be_told_what_it_is(damaged: Path) -> None:
    data = (damaged / f"{NAME}.index").read_bytes()
    assert kidx("verify", "-", stdin=data).status == 2
    ran = kidx("verify", "--kind", "offset_index", "--base-offset", "0", "--format", "jsonl", "-", stdin=data)
    assert ran.status == 1
    assert [(r["rule"], r["file"], r["slot"]) for r in ran.rows[:-1]] == [("KX105", "-", 3)]


def test_quick_deep_and_samples(damaged: Path) -> None:
    quick = kidx("verify", "--quick", damaged, "--format", "jsonl").rows[-1]
    assert quick["batches"] == 0 and quick["bytes_skipped"] > 0
    shares = [kidx("verify", "--sample", f"{n}/3", CLEAN, "--format", "jsonl").rows[-1]["batches"] for n in (1, 2, 3)]
    assert sum(shares) == kidx("verify", "--deep", CLEAN, "--format", "jsonl").rows[-1]["batches"]
    assert kidx("verify", "--sample", "half", CLEAN).status == 2


def test_jobs_change_nothing() -> None:
    one, two = (kidx("verify", FIXTURES / "kafka-4.3.1", "--format", "jsonl", "--jobs", n).rows for n in (1, 2))
    assert one == two


def test_explain() -> None:
    everything = kidx("explain").out.decode()
    assert set(RULES) <= {line.split()[0] for line in everything.splitlines()}
    assert kidx("explain", "zero-tail").out == kidx("explain", "kx110").out
    assert b"KAFKA-10207" in kidx("explain", "KX110").out
    assert kidx("explain", "KX999").status == 2
    for rule in RULES.values():
        assert rule.title and rule.broker and rule.story, rule.code
        assert rule.broker.endswith((".", ")")) and rule.story.endswith("."), rule.code


def test_diff(damaged: Path) -> None:
    ran = kidx("diff", CLEAN / "plain-0", damaged, "--format", "jsonl")
    assert ran.status == 0  # the same entries in another order: verify's matter
    log = damaged / f"{NAME}.log"
    damage.flip_byte(log, 200)
    ran = kidx("diff", CLEAN / "plain-0", damaged, "--format", "jsonl")
    assert ran.status == 1
    assert {r["schema"] for r in ran.rows} == {"kidx.difference.v1", "kidx.summary.v1"}
    assert list(ran.rows[0]) == ["schema", "what", "where", "left", "right", "allowed"]
    assert b"DIFFERS" in kidx("diff", CLEAN / "plain-0", damaged).out


def test_where_nothing_is_to_be_checked_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / ".kafka_cleanshutdown").touch()
    for path, why in (("empty", "none of Kafka's data files"), (".kafka_cleanshutdown", "it is a mark")):
        alone = kidx("verify", tmp_path / path)
        assert (alone.status, alone.err) == (3, b"")
        for ran in (alone, kidx("verify", tmp_path / path, CLEAN / "plain-0")):
            assert why in ran.out.decode() and "nothing skipped" not in ran.out.decode()
    assert ran.status == 0


def test_annotations_reach_no_terminal_as_controls(damaged: Path) -> None:
    odd = damaged.rename(damaged.parent / "a%\x1b[31m\n,b:-0")
    for line in kidx("verify", "--format", "github", odd).out.decode().splitlines():
        assert line.startswith("::") and line.isprintable()
    assert "a%25\\x1b[31m%0A%2Cb%3A-0" in kidx("verify", "--format", "github", odd).out.decode()
