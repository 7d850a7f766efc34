"""Two commands in turns, whole processes, and the ratio of their times: what a noisy machine can still tell."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

Command = Sequence[object]


class Pair(NamedTuple):
    """Medians in seconds, and the median of the rounds' ratios."""

    ratio: float
    seconds: float
    yardstick_seconds: float


class Cost(NamedTuple):
    """Seconds that one run of a command took: by the clock, and of the processor, user and system together."""

    wall: float
    processor: float


def cost(command: Command, checkout: Path | None = None) -> Cost:
    """Run a command, with the kidx of a checkout if given, and throw away what it prints. Raises where it fails."""
    environment = os.environ if checkout is None else {**os.environ, "PYTHONPATH": str(checkout)}
    started = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, env=environment, cwd=checkout
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return Cost(time.perf_counter() - started, usage.ru_utime + usage.ru_stime)


def seconds(command: Command) -> float:
    """How long a command takes by the clock."""
    return cost(command).wall


def in_turns(command: Command, yardstick: Command, rounds: int) -> Pair:
    """Both once to warm up, then `rounds` times one after the other."""
    seconds(command), seconds(yardstick)
    times = [(seconds(command), seconds(yardstick)) for _ in range(rounds)]
    return Pair(median(a / b for a, b in times), median(a for a, _ in times), median(b for _, b in times))
