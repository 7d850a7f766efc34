"""Prove kidx on many seeds: python -m tests.interop.seeds --count 100

Each seed's scenarios are made by a real broker and real RocketMQ stores, and everything that kidx says of them is
compared. Results are kept in a file, a line a seed; started again, seeds that are proved are passed over.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from kidx import __version__
from tests.interop.flight import fly
from tests.interop.lab import KAFKA, why_not
from tests.interop.ledger import Ledger
from tests.interop.questions.rocketmq import stores
from tests.interop.rocketmq_lab import VERSIONS, rocketmq

RECORD = Path(__file__).resolve().parents[2] / "docs/proved-seeds.tsv"
_COLUMNS = ("seed", "comparisons", "differences", "kidx", "kafka", "rocketmq", "compared")


def prove(seeds: list[int], root: Path) -> dict[int, Ledger]:
    """A ledger for each seed: of Kafka and of RocketMQ. `root` is an empty directory. Raises Unavailable."""
    ledgers = fly(seeds, root)
    with ExitStack() as programs:
        for version in VERSIONS:
            program = rocketmq(version, root)
            programs.callback(program.close)
            for seed in seeds:
                chance = random.Random(f"rocketmq {seed}")
                stores(program, version, ledgers[seed], chance, root / "rocketmq" / str(seed))
    return ledgers


def main() -> int:
    """The exit status: 0 where no seed has a difference, 1 where one has, 3 where nothing can be asked here."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="how many seeds the record shall hold (100)")
    parser.add_argument("--first", type=int, help="the first seed of a new record; others follow (a random one)")
    parser.add_argument("--record", type=Path, default=RECORD, help=f"where results are kept ({RECORD.name})")
    parser.add_argument("--flight", type=int, default=10, help="how many seeds share a broker (10)")
    asked = parser.parse_args()
    if reason := why_not():
        print(f"nothing is proved here: {reason}", file=sys.stderr)
        return 3
    kept = _read(asked.record)
    first = min(kept, default=random.randrange(10**9)) if asked.first is None else asked.first
    print(f"seeds {first} to {first + asked.count - 1}")
    wanted = (seed for seed in range(first, first + asked.count) if kept.get(seed, {}).get("differences") != "0")
    while flight := list(islice(wanted, asked.flight)):
        _fly_and_keep(flight, kept, asked.record)
    rows = [kept[seed] for seed in range(first, first + asked.count)]
    comparisons = sum(int(row["comparisons"]) for row in rows)
    wrong = [row["seed"] for row in rows if row["differences"] != "0"]
    print(f"{len(rows)} seeds, {comparisons:,} comparisons; with differences: {' '.join(wrong) or 'none'}")
    return 1 if wrong else 0


def _fly_and_keep(seeds: list[int], kept: dict[int, dict[str, str]], record: Path) -> None:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kidx-interop-") as scratch:
        ledgers = prove(seeds, Path(scratch))
    for seed, ledger in ledgers.items():
        counts = str(sum(ledger.counts.values())), str(len(ledger.differences))
        row = (str(seed), *counts, __version__, KAFKA, " ".join(VERSIONS), str(ledger))
        kept[seed] = dict(zip(_COLUMNS, row, strict=True))
        print(f"seed {seed}: {counts[0]} comparisons, {counts[1]} differences")
        for difference in ledger.differences:
            print(difference)
    print(f"{len(seeds)} seeds in {time.monotonic() - started:.0f} s", flush=True)
    _write(record, kept)


def _read(path: Path) -> dict[int, dict[str, str]]:
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as f:
        return {int(row["seed"]): row for row in csv.DictReader(f, delimiter="\t")}


def _write(path: Path, kept: dict[int, dict[str, str]]) -> None:
    """Beside and then in its place: what was proved stays, whenever this ends."""
    new = path.with_suffix(".new")
    with new.open("w", newline="", encoding="utf-8") as f:
        table = csv.DictWriter(f, _COLUMNS, delimiter="\t", lineterminator="\n")
        table.writeheader()
        table.writerows(row for _, row in sorted(kept.items()))
    new.replace(path)


if __name__ == "__main__":
    sys.exit(main())
