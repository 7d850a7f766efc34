"""What README.md says that Kafka's own tool makes of an index damaged in one place."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.interop.lab import class_path
from tests.support import FIXTURES, kidx_here

pytestmark = pytest.mark.interop
SOUND = FIXTURES / "kafka-4.3.1/clean/default-interval-0"
NAME = "00000000000000000000.index"


def dump_log_segments(index: Path, *options: str) -> tuple[int, str]:
    tool = ["java", "-cp", class_path(), "org.apache.kafka.tools.DumpLogSegments", "--files", str(index), *options]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("damage", "status", "said", "rule"),
    [
        (b"\0\0\0\x0c\0\0\x8d\x50", 0, "Index offset: 12, log offset: 447", "KX105"),
        (bytes(8), 0, "offset: 387 position: 31517", "KX102"),
        (b"\0\0\x01\xbf\x7f\xff\xff\xff", 1, "at org.apache.kafka", "KX106"),
        (None, 0, "offset: 659 position: 53843", "KX101"),
    ],
    ids=["out of order", "zeros", "beyond the log", "torn"],
)
def test_the_table_of_readme(damage: bytes | None, status: int, said: str, rule: str, tmp_path: Path) -> None:
    index = shutil.copytree(SOUND, tmp_path / "orders-0") / NAME
    sound = index.read_bytes()
    index.write_bytes(sound[:100] if damage is None else sound[:56] + damage + sound[64:])
    assert rule in kidx_here("verify", index.parent).out.decode()
    if damage is not None:
        assert "passed sanity check" in dump_log_segments(index, "--index-sanity-check")[1]
    ended, text = dump_log_segments(index)
    assert (ended, said in text) == (status, True), text
    if damage == bytes(8):
        assert "offset: 501" not in text  # it stops at the zeros
    if damage is None:
        assert index.stat().st_size == 96  # and cuts what is torn, after which it finds nothing wrong
        assert "passed sanity check" in dump_log_segments(index, "--index-sanity-check")[1]
