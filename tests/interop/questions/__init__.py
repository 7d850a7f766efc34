"""What is asked of kidx and of the real systems: a file a kind of question.

Each is a function that asks both, of the same bytes, and enters every answer in a ledger.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.lab import Program
from tests.interop.ledger import Ledger
from tests.support import Ran, kidx_here


@dataclass(frozen=True)
class Case:
    """One partition that is asked about.

    `kafka` and `old` answer for Kafka's classes of now and of before KAFKA-6432. `partition` is what kidx reads and
    nobody changes; `copy` holds the same for those classes, which may change what they open; `scratch` is an empty
    directory. `interval` is the topic's index.interval.bytes.
    """

    kafka: Program
    old: Program
    ledger: Ledger
    chance: random.Random
    partition: Path
    copy: Path
    scratch: Path
    interval: int

    def files(self, suffix: str) -> Iterator[tuple[Path, Path, int]]:
        """(kidx's, Kafka's, base offset) of each file of a kind, in order."""
        for path in sorted(self.partition.glob(f"*{suffix}")):
            if path.name[:20].isdigit() and path.name == f"{path.name[:20]}{suffix}":
                yield path, self.copy / path.name, int(path.name[:20])

    def some(self, values: list[Any], most: int) -> list[Any]:
        """At most so many of them, sorted, without repetition."""
        distinct = sorted(set(values))
        return sorted(self.chance.sample(distinct, min(most, len(distinct))))


def rows(*args: object) -> list[dict[str, Any]]:
    """kidx's answer as rows. Raises AssertionError where it has none."""
    ran = run(*args, "--format", "jsonl")
    assert ran.status in (0, 1), (args, ran.status, ran.err.decode())
    return ran.rows


def run(*args: object) -> Ran:
    """kidx in this process. A bug of kidx shows as its exit status 70."""
    return kidx_here(*args)


def verified(ledger: Ledger, directory: Path, *options: str) -> None:
    """Compare what a broker wrote and keeps with perfection: no finding that counts."""
    question = ("verify", directory, *options)
    found = [row for row in rows(*question) if row.get("severity") in ("error", "warning")]
    ledger.compare("verify", question, found, [])
