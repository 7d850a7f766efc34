"""`make bench`: kidx against yardsticks, each as a whole process, in turns. Ratios count; times show the scale.

The yardsticks: a C program that prints with snprintf (dump), an empty Click program (a look-up's start), `cat`
(verify). Needs 1.1 GiB below benchmarks/data while it runs.
"""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Pair, in_turns
from benchmarks.rocketmq_verify import stores

HERE = Path(__file__).parent
DATA = HERE / "data"
KIDX = Path(sys.executable).parent / "kidx"
ENTRIES = 1_310_720  # a full offset index of the default size, 10 MiB
EMPTY_CLICK = "import click\n@click.command()\ndef main(): pass\nmain()\n"


def index_bytes(entries: int, ordered: bool = True) -> bytes:
    """An offset index as of a busy partition, or the same entries shuffled, as no broker would leave them."""
    draw = random.Random(1)
    offset = position = 0
    rows = []
    for _ in range(entries):
        offset += draw.randrange(1, 60)
        position += draw.randrange(1, 1500)
        rows.append((offset, position))
    if not ordered:
        draw.shuffle(rows)
    return b"".join(struct.pack(">ii", *row) for row in rows)


def made(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def dumps() -> Iterator[tuple[str, Pair]]:
    yardstick = DATA / "dump_yardstick"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        print("no C compiler: dump's yardstick is left out")
        return
    subprocess.run([compiler, "-O2", "-o", yardstick, HERE / "dump_yardstick.c"], check=True)
    for what, ordered in (("ordered", True), ("shuffled", False)):
        index = made(DATA / what / "00000000000000000000.index", index_bytes(ENTRIES, ordered))
        for form in ("kafka", "text"):
            pair = in_turns([KIDX, "dump", "--format", form, index], [yardstick, index, 0], 5)
            yield f"dump --format {form}, {ENTRIES:,} entries, {what} / C snprintf", pair


def starts() -> Iterator[tuple[str, Pair]]:
    empty = made(DATA / "empty_click.py", EMPTY_CLICK.encode())
    index = made(DATA / "start" / "00000000000000000000.index", index_bytes(10_000))
    yield (
        "lookup, one target / empty Click program",
        in_turns([KIDX, "lookup", index, 12345], [sys.executable, empty], 15),
    )


def verifies() -> Iterator[tuple[str, Pair]]:
    data = index_bytes(1 << 17)
    files = [made(DATA / "many" / f"t-{n}" / "00000000000000000000.index", data) for n in range(1000)]
    yield (
        "verify --jobs 2, 1,000 indexes of 1 MiB / cat",
        in_turns([KIDX, "verify", "--jobs", 2, DATA / "many"], ["cat", *files], 3),
    )


def main() -> None:
    try:
        for measure in (starts, dumps, verifies, stores):
            for what, pair in measure():
                print(f"{pair.ratio:6.2f}x  {pair.seconds:7.3f} s  {pair.yardstick_seconds:7.3f} s  {what}", flush=True)
    finally:
        shutil.rmtree(DATA, ignore_errors=True)


if __name__ == "__main__":
    main()
