"""verify --rate, --resume and --metrics: nightly passes over a live broker's disks."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from kidx.evidence import open_evidence, reading_rate
from tests.damage import flip_byte
from tests.support import FIXTURES, kidx_here

CLEAN = FIXTURES / "kafka-4.3.1" / "clean"
UNITS = Path(__file__).resolve().parents[2] / "docs" / "systemd"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("plain-0", "txn-0", "times-0"):
        shutil.copytree(CLEAN / name, tmp_path / "data" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


def remembered() -> dict[str, list[object]]:
    checks: dict[str, list[object]] = json.loads(Path("scrub.json").read_text())["checks"]
    return checks


def test_a_pass_gives_the_same_findings_and_remembers_them(data: Path) -> None:
    flip_byte(sorted((data / "plain-0").glob("*.index"))[0], 9)
    plain = kidx_here("verify", data, "--format", "jsonl")
    ran = kidx_here("verify", data, "--format", "jsonl", "--resume", "scrub.json", "--metrics", "kidx.prom")
    assert (ran.status, ran.out, ran.err) == (plain.status, plain.out, plain.err)
    assert {Path(name).name: checked[3] for name, checked in remembered().items()} == {
        "plain-0": {"KX105": 1},
        "times-0": {"KX311": 1},
        "txn-0": {"KX403": 1},
    }
    values = dict(line.split(" ") for line in Path("kidx.prom").read_text().splitlines() if line[0] != "#")
    assert values['kidx_findings{rule="KX105"}'] == "1" and values["kidx_checked_directories"] == "3"
    assert float(values["kidx_checked_bytes"]) == json.loads(plain.out.splitlines()[-1])["bytes_checked"]
    assert time.time() - 600 < float(values["kidx_oldest_check_timestamp_seconds"]) <= time.time()
    assert kidx_here("verify", data, "--resume", "scrub.json", "--metrics", "kidx.prom").status == 1, "once more"


def test_the_least_recently_checked_come_first(data: Path) -> None:
    from kidx.checks.engine.targets import Target, targets_of
    from kidx.report.findings.scrub import Scrub

    kidx_here("verify", data, "--resume", "scrub.json")
    kidx_here("verify", data / "times-0", "--resume", "scrub.json")
    assert list(remembered()) == [str(data / "times-0")], "directories that are no longer asked for are forgotten"
    shutil.copytree(data / "txn-0", data / "new-0")
    order = [
        Path(t.directory).name for t in Scrub("scrub.json").in_order(targets_of([str(data)])) if isinstance(t, Target)
    ]
    assert order[-1] == "times-0" and sorted(order[:-1]) == ["new-0", "plain-0", "txn-0"]


def test_reads_are_slowed_down(data: Path) -> None:
    log = data / "plain-0" / f"{0:020}.log"
    size = log.stat().st_size
    started = time.monotonic()
    with reading_rate(4 * size), open_evidence(str(log)) as evidence:
        assert len(evidence.read(0, size)) == size
        assert evidence.read_into(0, memoryview(bytearray(size))) == size
    assert time.monotonic() - started >= 0.49
    assert kidx_here("verify", data, "--rate", "50MB/s").status == 0


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"schema": "kidx.scrub.v1"}', '{"schema": "kidx.scrub.v1", "checks": {"a": [1]}}']
)
def test_what_is_no_scrubs_file_is_refused_and_kept(data: Path, content: str) -> None:
    Path("scrub.json").write_text(content)
    ran = kidx_here("verify", data, "--resume", "scrub.json")
    assert ran.status == 2 and b"not the file of a scrub" in ran.err and Path("scrub.json").read_text() == content


def test_refusals(data: Path) -> None:
    ran = kidx_here("verify", data, "--metrics", "kidx.prom")
    assert ran.status == 2 and b"--resume" in ran.err
    ran = kidx_here("verify", data, "--resume", data / "plain-0" / "scrub.json")
    assert ran.status == 2 and b"Kafka's files are in that directory" in ran.err
    assert kidx_here("verify", data, "--rate", "fast").status == 2
    Path("kidx.prom").write_text("other")
    ran = kidx_here("verify", data, "--resume", "scrub.json", "--metrics", "kidx.prom")
    assert ran.status == 2 and Path("kidx.prom").read_text() == "other"


def test_the_units_are_valid() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, sorted(UNITS.iterdir()))],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "kidx-scrub" in line and "/opt/kidx/bin/kidx" not in line]
    assert said == []
