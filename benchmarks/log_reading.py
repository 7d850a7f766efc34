"""`python -m benchmarks.log_reading [LOG...]`: scanning and decoding a log, in one process, against reading it.

Without arguments it makes logs of 128 MiB below benchmarks/data, by average batch size and codec, as producers write
them. Each function runs in turns with read() of the same file; the median of the rounds' ratios counts.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np

from kidx.evidence import open_evidence
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.scan import scan
from tests.building import NAMES, batch, record

DATA = Path(__file__).parent / "data" / "logs"
LOG_BYTES = 128 << 20
INDEX_INTERVAL_BYTES = 4096
ROUNDS = 5
SHAPES = (
    (200, 0),
    (1 << 10, 0),
    (16 << 10, 0),
    (1 << 20, 0),
    (16 << 10, 1),
    (16 << 10, 2),
    (16 << 10, 3),
    (16 << 10, 4),
)


def made(batch_bytes: int, codec: int) -> Path:
    """A log of batches of about that size before compression, and its offset index."""
    path = DATA / f"{batch_bytes}-{NAMES[codec]}" / "00000000000000000000.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    patterns = []
    for _ in range(200):
        records, size = [], 61
        while not records or size + 130 < batch_bytes:
            key = b"key-%d" % draw.randrange(10_000) if draw.random() < 0.5 else None
            value = draw.randbytes(draw.randrange(40, 80)) + b"text " * draw.randrange(4, 12)
            records.append(record(len(records), 0, key, value))
            size += len(records[-1])
        patterns.append(batch(records, codec=codec))
        if len(patterns) * batch_bytes > 8 << 20:
            break
    entries = bytearray()
    offset = position = last_indexed = 0
    with path.open("wb") as log:
        while position < LOG_BYTES:
            data = bytearray(draw.choice(patterns))
            data[:8] = offset.to_bytes(8, "big")  # no CRC covers it
            if position - last_indexed > INDEX_INTERVAL_BYTES:
                last = offset + int.from_bytes(data[23:27], "big")
                entries += last.to_bytes(4, "big") + position.to_bytes(4, "big")
                last_indexed = position
            log.write(data)
            offset += int.from_bytes(data[23:27], "big") + 1
            position += len(data)
    path.with_suffix(".index").write_bytes(entries)
    return path


def positions_of(log: Path) -> np.ndarray:
    return np.fromfile(log.with_suffix(".index"), ">i4")[1::2].astype(np.int64)


def read(log: Path) -> int:
    buffer = bytearray(2 << 20)
    position = 0
    with log.open("rb", buffering=0) as f:
        while came := f.readinto(buffer):
            position += came
    return position


def scan_with_index(log: Path) -> int:
    with open_evidence(str(log)) as evidence:
        return sum(len(window) for window in scan(evidence, lambda: positions_of(log)))


def scan_without_index(log: Path) -> int:
    with open_evidence(str(log)) as evidence:
        return sum(len(window) for window in scan(evidence))


def decode(log: Path) -> int:
    with open_evidence(str(log)) as evidence:
        decoder = RecordDecoder(evidence)
        windows = scan(evidence, lambda: positions_of(log), hold=True)
        return sum(len(block) for window in windows for block in decoder.blocks(window))


def seconds(function: Callable[[Path], int], log: Path) -> tuple[float, int]:
    started = time.perf_counter()
    result = function(log)
    return time.perf_counter() - started, result


def measured(log: Path) -> Iterator[str]:
    for function, unit in ((scan_with_index, "batch"), (scan_without_index, "batch"), (decode, "record")):
        function(log)
        ratios, times, count = [], [], 0
        for _ in range(ROUNDS):
            taken, count = seconds(function, log)
            ratios.append(taken / seconds(read, log)[0])
            times.append(taken)
        what = function.__name__.replace("_", " ")
        yield f"{median(ratios):6.1f}x read()  {median(times) / count * 1e9:7.0f} ns a {unit:6}  {what}"


def main() -> None:
    given = [Path(name) for name in sys.argv[1:]]
    try:
        for log in given or (made(*shape) for shape in SHAPES):
            print(f"{log.parent.name}, {os.path.getsize(log) >> 20} MiB")
            for line in measured(log):
                print(" ", line, flush=True)
    finally:
        if not given:
            shutil.rmtree(DATA, ignore_errors=True)
    print(f"largest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")


if __name__ == "__main__":
    main()
