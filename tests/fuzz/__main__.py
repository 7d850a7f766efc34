"""Run many mutated files through kidx: `python -m tests.fuzz --count 1000000 --record fuzz.jsonl`.

The record has a line every 1,000 seeds and one a find; run again with the same record, it goes on where it ended.
`--show SEED --into DIR` lays one seed's files and command lines out, to be looked at.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.hunt import Hunt, prepare

_EVERY = 1000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many mutated files, each of one seed")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--record", type=Path, help="where progress and finds are kept")
    parser.add_argument("--scratch", help="where the files are laid out; a file system in memory is quickest")
    parser.add_argument("--show", type=int, metavar="SEED", help="lay out one seed's files and say its commands")
    parser.add_argument("--into", type=Path, default=Path("fuzzed"), help="--show: where")
    asked = parser.parse_args()
    prepare()
    if asked.show is not None:
        return show(asked.show, asked.into)
    with tempfile.TemporaryDirectory(prefix="kidx-fuzz-", dir=asked.scratch) as scratch:
        return hunt(Path(scratch), asked.start, asked.start + asked.count, asked.record)


def hunt(scratch: Path, start: int, end: int, record: Path | None) -> int:
    """Run the seeds from `start`, or from where the record ended, to `end`; status 1 where there were finds."""
    lines = [json.loads(line) for line in record.read_text().splitlines()] if record and record.exists() else []
    done = [line["done_to"] for line in lines if "done_to" in line and start <= line["done_to"] <= end]
    finds = sum("what" in line for line in lines)
    begun, first = time.monotonic(), max([start, *done])
    chase = Hunt(scratch)
    for seed in range(first, end):
        for find in chase.run(seed):
            finds += 1
            _keep(record, find._asdict())
            print(f"seed {seed}: {find.file} {shlex.join(find.words)}\n  {find.what}", flush=True)
        if (seed + 1) % _EVERY == 0 or seed + 1 == end:
            rate = (seed + 1 - first) / (time.monotonic() - begun)
            _keep(record, {"done_to": seed + 1, "files_per_s": round(rate)})
            print(f"{seed + 1 - start} of {end - start} files, {rate:.0f} a second, {finds} finds", file=sys.stderr)
    return 1 if finds else 0


def show(seed: int, into: Path) -> int:
    """Write a seed's case, the file mutated, and print what would be run on it."""
    chase = Hunt(into)
    shot = chase.shot(seed)
    chase.lay_down(shot)
    print(f"{shot.case.name}/{shot.name}: {', '.join(shot.mutated.verbs)}, repaired: {shot.mutated.repaired}")
    for words in (shot.check, shot.another):
        print("kidx", shlex.join(words))
    return 0


def _keep(record: Path | None, line: dict[str, object]) -> None:
    if record:
        with record.open("a") as f:
            f.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    sys.exit(main())
