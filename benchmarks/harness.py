"""Two commands in turns, whole processes, and the ratio of their times: what a noisy machine can still tell."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

Command = Sequence[object]


class Pair(NamedTuple):
    """Medians in seconds, and the median of the rounds' ratios."""

    ratio: float
    seconds: float
    yardstick_seconds: float


def seconds(command: Command) -> float:
    """How long a command takes; what it prints is thrown away. Raises where it fails."""
    started = time.perf_counter()
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def in_turns(command: Command, yardstick: Command, rounds: int) -> Pair:
    """Both once to warm up, then `rounds` times one after the other."""
    seconds(command), seconds(yardstick)
    times = [(seconds(command), seconds(yardstick)) for _ in range(rounds)]
    return Pair(median(a / b for a, b in times), median(a for a, _ in times), median(b for _, b in times))
