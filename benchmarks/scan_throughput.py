"""A fleet on Spark against one machine's forks and against the obvious Spark program; Spark's start told apart.

    python -m benchmarks.scan_throughput [SEGMENTS] [LOG_KIB]

Makes SEGMENTS segments (2,000 of 256 KiB: 0.5 GB below benchmarks/data/) from the batches of a fixture with other
base offsets, which no CRC covers. What is compared: `kidx verify` with two forks; the scan's own waves on local[2];
binaryFile + mapInArrow, where every file goes through the JVM and the same functions walk the same batches; the data
source's `batches`. Each once to warm up, then ROUNDS times in turn; medians. Half the fleet is measured, too, and twice
as many segments: cost per file and per GB should be the same. Processor seconds, of this process and all it started,
are told beside the clock's: a machine with other work stretches those less.
"""

from __future__ import annotations

import os
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = HERE.parent / "fixtures" / "kafka-4.3.1" / "clean" / "pages13-0" / "00000000000000000000.log"
ROUNDS = 3
SEGMENTS_A_PARTITION = 50


def make_fleet(root: Path, segments: int, log_bytes: int) -> list[Path]:
    """Partitions of SEGMENTS_A_PARTITION segments; the partition directories."""
    source = SOURCE.read_bytes()
    batches = []
    at = 0
    while at < len(source):
        size = 12 + int.from_bytes(source[at + 8 : at + 12], "big")
        batches.append(source[at : at + size])
        at += size
    partitions = []
    for number in range(-(-segments // SEGMENTS_A_PARTITION)):
        directory = root / f"orders-{number}"
        partitions.append(directory)
        if directory.is_dir():
            continue
        directory.mkdir(parents=True)
        offset = 0
        for _ in range(min(SEGMENTS_A_PARTITION, segments - number * SEGMENTS_A_PARTITION)):
            offset = _write_segment(directory, offset, batches, log_bytes)
    return partitions


def _write_segment(directory: Path, base: int, batches: list[bytes], log_bytes: int) -> int:
    """One segment's log and offset index, an entry each 4 KiB; the next base offset."""
    log, index = bytearray(), bytearray()
    offset, indexed, turn = base, 0, 0
    while len(log) < log_bytes:
        batch = batches[turn % len(batches)]
        last = offset + int.from_bytes(batch[23:27], "big")
        if len(log) - indexed > 4096:
            index += struct.pack(">ii", last - base, len(log))
            indexed = len(log)
        log += offset.to_bytes(8, "big") + batch[8:]
        offset, turn = last + 1, turn + 1
    (directory / f"{base:020d}.log").write_bytes(log)
    (directory / f"{base:020d}.index").write_bytes(index)
    return offset


def walk_binary(batches: Iterator[Any]) -> Iterator[Any]:
    """What one would write first: contents through the JVM, then every batch's header and CRC."""
    import pyarrow as pa

    from kidx.evidence import from_bytes
    from kidx.segments.scan import scan

    for batch in batches:
        counts = [sum(len(w) for w in scan(from_bytes(content.as_py()))) for content in batch.column("content")]
        yield pa.RecordBatch.from_pydict({"batches": counts})


def processor_seconds() -> float:
    """What this process and all below it have used so far, those that have ended included."""
    parents, used = {}, {}
    for entry in os.listdir("/proc"):
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split() if entry.isdigit() else []
        except OSError:
            continue
        if fields:
            parents[int(entry)], used[int(entry)] = int(fields[1]), sum(map(int, fields[11:15]))
    family = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    return sum(used[pid] for pid in family) / os.sysconf("SC_CLK_TCK")


def measure(what: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float]]:
    """Median seconds of each, of the clock and of processors, in turns, after one round to warm up."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in what}
    for turn in range(ROUNDS + 1):
        for name, run in what.items():
            before = time.perf_counter(), processor_seconds()
            run()
            if turn:
                taken[name].append((time.perf_counter() - before[0], processor_seconds() - before[1]))
    return {name: tuple(map(statistics.median, zip(*pairs, strict=True))) for name, pairs in taken.items()}  # type: ignore[misc]


def main(segments: int = 2000, log_kib: int = 256) -> None:
    from kidx.pipeline import register, scan
    from kidx.pipeline.session import spark_session

    root = HERE / "data" / f"fleet-{segments}-{log_kib}"
    partitions = [str(p) for p in make_fleet(root, segments, log_kib << 10)]
    half = partitions[: len(partitions) // 2]
    double = [
        str(p) for p in make_fleet(HERE / "data" / f"fleet-{2 * segments}-{log_kib}", 2 * segments, log_kib << 10)
    ]
    total = sum(f.stat().st_size for f in root.rglob("*") if f.is_file()) / 1e9
    started = time.perf_counter()
    with spark_session("local[2]", {"spark.driver.memory": "2g"}) as spark:
        print(f"{segments:,} segments, {total:.2f} GB; Spark's start {time.perf_counter() - started:.1f} s")
        register(spark)

        def scanned(paths: list[str]) -> None:
            scan(spark, paths).checked()

        def binary() -> None:
            files = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
            files.option("pathGlobFilter", "*.log").load(str(root)).select("content").mapInArrow(
                walk_binary, "batches long"
            ).toArrow()

        def source() -> None:
            kind = spark.read.format("kidx").option("kind", "batches").option("columns", "crc_ok")
            kind.load(str(root)).where("not crc_ok").count()

        kidx = Path(sys.executable).parent / "kidx"
        verify = [kidx, "verify", "--jobs", "2", "--format", "jsonl", root]
        taken = measure(
            {
                "kidx verify --jobs 2 (whole process)": lambda: subprocess.run(
                    verify, capture_output=True, check=False
                ),
                "a scan, local[2]": lambda: scanned(partitions),
                "a scan, half the fleet": lambda: scanned(half),
                "a scan, double the fleet": lambda: scanned(double),
                "binaryFile + mapInArrow, logs only": binary,
                'format("kidx") batches': source,
            }
        )
    yardstick = taken["kidx verify --jobs 2 (whole process)"]
    for name, (seconds, processor) in taken.items():
        size = total * (0.5 if "half" in name else 2 if "double" in name else 1)
        print(
            f"{name:40} {seconds:6.2f} s {size / seconds:5.2f} GB/s {seconds / yardstick[0]:5.2f} x verify; "
            f"processors {processor:6.2f} s {processor / yardstick[1]:5.2f} x"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
