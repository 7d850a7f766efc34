"""A few of the system calls that `make faults` fails, all of them there."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.fuzz.faults import Bench

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace, which fails chosen system calls")


@pytest.mark.parametrize(
    "command", ["verify damaged", "lookup offset", "startup", "rocketmq verify", "truncate", "undo"]
)
def test_a_failed_call_is_one_sentence(tmp_path: Path, command: str) -> None:
    bench = Bench(tmp_path)
    try:
        faults = list(bench.faults(command))
    except OSError as e:
        pytest.skip(str(e))
    assert len(faults) > 40
    for fault in random.Random(command).sample(faults, 8):
        assert bench.wrong(fault) is None, fault
