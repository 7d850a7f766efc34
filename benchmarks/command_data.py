"""What `benchmarks.commands` runs on: the same data twice below benchmarks/data/commands, `1x` and ten times as large.

    python -m benchmarks.command_data

A partition of one segment (16 MiB of log, batches of about 1 KiB, 10,000 keys), one of 2 MiB, an offset index of
131,072 entries, a partition of __consumer_offsets (2 MiB, a fixture's batches over and over), a RocketMQ store of
20,000 messages, and a fleet of 100 segments.
"""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from benchmarks.scan_throughput import make_fleet
from tests.building import batch, record
from tests.rocketmq.building import make_store

DATA = Path(__file__).parent / "data" / "commands"
SIZES = {"1x": 1, "10x": 10}
CLEAN = Path(__file__).parents[1] / "fixtures/kafka-4.3.1/clean"
OFFSETS = Path(__file__).parents[1] / "fixtures/kafka-4.3.1-internal/internal/__consumer_offsets-0"
SEGMENT = "00000000000000000000"
LOG_BYTES = 16 << 20
ENTRIES = 1 << 17
SMALL_LOG_BYTES = 2 << 20
MESSAGES = 20_000
SEGMENTS = 100
START_MS = 1_700_000_000_000


def make() -> None:
    """Everything that is not there yet."""
    scratch = DATA / "scratch"
    if not scratch.exists():  # a partition with a change to undo
        shutil.copytree(CLEAN / "plain-0", scratch)
        kidx("rebuild", "--in-place", "--all", "--index-interval-bytes", 2048, scratch)
    for name, times in SIZES.items():
        root = DATA / name
        if (root / "made").exists():
            continue
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        write_log(root / "users-0" / f"{SEGMENT}.log", record_batches(), LOG_BYTES * times)
        write_log(root / "users-1" / f"{SEGMENT}.log", record_batches(), SMALL_LOG_BYTES * times)
        write_log(root / "__consumer_offsets-0" / f"{SEGMENT}.log", fixture_batches(), SMALL_LOG_BYTES * times)
        for partition in ("users-0", "__consumer_offsets-0"):
            kidx("rebuild", "--in-place", root / partition)
        shutil.copytree(root / "users-0", root / "replica" / "users-0")
        write_index(root / "index" / f"{SEGMENT}.index", ENTRIES * times)
        make_store(root / "store", [START_MS + n for n in range(MESSAGES * times)], 1 << 20, log_file_bytes=1 << 24)
        make_fleet(root / "fleet", SEGMENTS * times, 64 << 10)
        kidx("rebuild", "--in-place", root / "fleet")
        (root / "made").touch()


def kidx(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "kidx", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def record_batches() -> list[bytes]:
    """Batches of about 1 KiB, without a producer, as they are drawn from."""
    draw = random.Random(1)
    made = []
    for _ in range(1000):
        values = [(b"key-%d" % draw.randrange(10_000), draw.randbytes(60) + b"text " * 8) for _ in range(8)]
        made.append(batch([record(n, 0, key, value) for n, (key, value) in enumerate(values)]))
    return made


def fixture_batches() -> list[bytes]:
    data = (OFFSETS / f"{SEGMENT}.log").read_bytes()
    made, at = [], 0
    while at < len(data):
        size = 12 + int.from_bytes(data[at + 8 : at + 12])
        made.append(data[at : at + size])
        at += size
    return made


def write_log(path: Path, batches: list[bytes], size: int) -> None:
    """The batches over and over, each with the next base offset, which no CRC covers."""
    path.parent.mkdir(parents=True)
    offset = written = 0
    with path.open("wb") as log:
        while written < size:
            for one in batches:
                log.write(offset.to_bytes(8) + one[8:])
                offset += int.from_bytes(one[23:27]) + 1
                written += len(one)


def write_index(path: Path, entries: int) -> None:
    """An offset index as of a busy partition, with a zero tail."""
    draw = random.Random(1)
    path.parent.mkdir(parents=True)
    offset = position = 0
    rows = bytearray()
    for _ in range(entries):
        offset += draw.randrange(1, 60)
        position += draw.randrange(1, 1500)
        rows += struct.pack(">ii", offset, position)
    path.write_bytes(bytes(rows) + bytes(len(rows) // 8))


if __name__ == "__main__":
    make()
