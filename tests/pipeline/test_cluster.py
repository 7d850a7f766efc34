"""A real standalone cluster: a master and a worker in processes of their own, from the pip package alone."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.damage import flip_byte
from tests.pipeline.support import SET, kidx_process, writable
from tests.support import HANG_S, kidx

pytestmark = pytest.mark.spark


QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # for JVMs that live for seconds


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    import pyspark

    from kidx.pipeline.java import choose_java_home

    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "JAVA_HOME": choose_java_home(tmp_path),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
    }
    spark_class = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), "org.apache.spark.deploy"]
    local = ["--host", "127.0.0.1", "--webui-port", "0"]
    log = tmp_path / "worker.log"
    with log.open("wb") as out:
        started = [
            subprocess.Popen(
                [spark_class[0], f"{spark_class[1]}.{part}", *local, *arguments], env=environment, stderr=out
            )
            for part, arguments in (
                ("master.Master", ["--port", str(port)]),
                ("worker.Worker", ["--cores", "2", "--memory", "1g", "--work-dir", str(tmp_path / "work"), address]),
            )
        ]
    try:
        deadline = time.monotonic() + HANG_S
        while "Successfully registered with master" not in log.read_text(errors="replace"):
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
            time.sleep(0.2)
        yield address
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(timeout=HANG_S)


def test_a_scan_on_a_cluster_has_the_rows_of_verify(master: str, tmp_path: Path) -> None:
    root = writable(SET / "fleet", tmp_path / "fleet")
    flip_byte(sorted(root.rglob("*.log"))[0], 100)
    verify = kidx("verify", "fleet", "--format", "jsonl", cwd=tmp_path)
    # The executor has neither this directory nor kidx on its path: both come with the job.
    scan = kidx_process(
        *("scan", "fleet", "--format", "jsonl", "--master", master, "--conf", "spark.executor.memory=512m"),
        *("--conf", f"spark.executor.extraJavaOptions={QUICK}"),
        cwd=tmp_path,
    )
    assert (scan.status, scan.out, scan.err) == (verify.status, verify.out, verify.err)
    assert scan.status == 1
