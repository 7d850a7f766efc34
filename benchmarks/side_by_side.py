"""`python -m benchmarks.side_by_side --base COMMIT`: this checkout's kidx in turns with another commit's.

    python -m benchmarks.side_by_side --base COMMIT [--mib 512] [--rounds 5] [--data DIR] [WORD ...]

Makes 8 partitions of healthy logs for each batch size (--mib in all for each) and 300 indexes of 1 MiB, then runs
verify, verify --deep and the start of verify, dump and lookup. It prints ratios to the base: of processor time (user
and system), and of time by the clock; medians of the rounds. Starts are also compared with a program that imports
Click and numpy, and with an empty Click program. WORD runs only the measurements whose names contain one of the words.
Data goes to benchmarks/data and is removed at the end; --data names a directory that is kept and used again.
"""

from __future__ import annotations

import argparse
import io
import random
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from struct import pack_into

from fastcrc import crc32

from benchmarks.__main__ import EMPTY_CLICK, index_bytes, made
from benchmarks.harness import Command, Cost, cost
from tests.building import batch, record

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(__file__).parent / "data" / "side_by_side"
BATCH_BYTES = {"200 B": 200, "1 KB": 1 << 10, "16 KB": 16 << 10, "1 MB": 1 << 20}
PARTITIONS, INDEXES = 8, 300
INDEX_INTERVAL_BYTES = 4096
Measurement = tuple[str, Command, Command | None]  # name, command, what to run instead of the base's kidx


def segment(directory: Path, batch_bytes: int, log_bytes: int) -> None:
    """A segment as a producer and a broker write it: offsets and timestamps rise, both indexes are complete."""
    draw = random.Random(1)
    records, size = [], 61
    while not records or size + 130 < batch_bytes:
        records.append(record(len(records), 0, b"key-%d" % draw.randrange(10_000), draw.randbytes(100)))
        size += len(records[-1])
    data = bytearray(batch(records))
    offsets, times = bytearray(), bytearray()
    offset = position = last_indexed = 0
    timestamp = 1_700_000_000_000
    directory.mkdir(parents=True)
    with (directory / f"{0:020}.log").open("wb") as log:
        while position + len(data) <= log_bytes:
            pack_into(">q", data, 0, offset)
            pack_into(">qq", data, 27, timestamp, timestamp)
            pack_into(">I", data, 17, crc32.iscsi(bytes(data[21:])))
            log.write(data)
            last = offset + len(records) - 1
            if position - last_indexed > INDEX_INTERVAL_BYTES:
                offsets += last.to_bytes(4, "big") + position.to_bytes(4, "big")
                times += timestamp.to_bytes(8, "big") + last.to_bytes(4, "big")
                last_indexed = position
            offset, position, timestamp = last + 1, position + len(data), timestamp + 1
    if last_indexed + len(data) < position:  # the entry that a time index gets when its log is closed
        times += (timestamp - 1).to_bytes(8, "big") + (offset - 1).to_bytes(4, "big")
    (directory / f"{0:020}.index").write_bytes(offsets)
    (directory / f"{0:020}.timeindex").write_bytes(times)


def prepared(data: Path, mib: int) -> None:
    """Make what is not there yet."""
    for name, batch_bytes in BATCH_BYTES.items():
        log_dir = data / f"{name} {mib} MiB"
        if not log_dir.exists():
            making = data / "making"
            shutil.rmtree(making, ignore_errors=True)
            segment(making / "t-0", batch_bytes, (mib << 20) // PARTITIONS)
            for number in range(1, PARTITIONS):
                shutil.copytree(making / "t-0", making / f"t-{number}")
            making.rename(log_dir)
    index = index_bytes(1 << 17)
    for number in range(INDEXES):
        made(data / "indexes" / f"t-{number}" / f"{0:020}.index", index)
    made(data / "start" / "t-0" / f"{0:020}.index", index[:80_000])


def measurements(data: Path, mib: int) -> Iterator[Measurement]:
    kidx = [sys.executable, "-m", "kidx"]
    for name in BATCH_BYTES:
        for options in ([], ["--deep"]):
            words = ["verify", *options, "--jobs", 2]
            yield f"{' '.join(map(str, words))}, batches of {name}", [*kidx, *words, data / f"{name} {mib} MiB"], None
    yield f"verify --jobs 2, {INDEXES} indexes", [*kidx, "verify", "--jobs", 2, data / "indexes"], None
    index = data / "start" / "t-0" / f"{0:020}.index"
    imports = [sys.executable, "-c", "import click, numpy"]
    for command in (["verify", index], ["dump", index]):
        yield f"start of {command[0]}", [*kidx, *command], None
        yield f"start of {command[0]} / import click, numpy", [*kidx, *command], imports
    yield "start of lookup", [*kidx, "lookup", index, 12345], None
    yield "start of lookup / empty Click program", [*kidx, "lookup", index, 12345], [sys.executable, "-c", EMPTY_CLICK]


def checkout_of(commit: str, place: Path) -> Path:
    """The package as it was at a commit, below `place`."""
    shutil.rmtree(place, ignore_errors=True)
    packed = subprocess.run(["git", "-C", ROOT, "archive", commit, "kidx"], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(place, filter="data")
    return place


def in_turns(command: Command, instead: Command | None, base: Path, rounds: int) -> list[tuple[Cost, Cost]]:
    """One run of each to warm up, then `rounds` of this checkout and of the base, in turns."""
    other = instead or command
    return [(cost(command, ROOT), cost(other, base)) for _ in range(rounds + 1)][1:]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.side_by_side", description=__doc__.partition("\n")[0])
    parser.add_argument("--base", required=True, metavar="COMMIT")
    parser.add_argument("--mib", type=int, default=512, help="MiB of logs for each batch size (default 512)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, help="a directory for the data that is kept and used again")
    parser.add_argument("words", nargs="*", metavar="WORD")
    asked = parser.parse_args()
    data = (asked.data or DATA).resolve()
    try:
        base = checkout_of(asked.base, data / "base")
        prepared(data, asked.mib)
        print("processor  by the clock   seconds here and there")
        for name, command, instead in measurements(data, asked.mib):
            if asked.words and not any(word in name for word in asked.words):
                continue
            rounds = in_turns(command, instead, base, asked.rounds)
            processor = median(here.processor / there.processor for here, there in rounds)
            wall = median(here.wall / there.wall for here, there in rounds)
            medians = [median(c.processor for c in costs) for costs in zip(*rounds, strict=True)]
            print(f"{processor:8.2f}x  {wall:11.2f}x   {medians[0]:7.3f} {medians[1]:7.3f}  {name}", flush=True)
    finally:
        if not asked.data:
            shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    main()
