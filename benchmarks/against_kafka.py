"""`python -m benchmarks.against_kafka`: kidx beside Kafka's DumpLogSegments and `cat`, on the same files, in turns.

Whole processes, medians of the rounds' ratios. Needs java, mvn and the network (once), and 2 GiB below benchmarks/data.
Writes docs/against-kafka.md's table and its chart, docs/pictures/against-kafka.svg.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.chart import bars
from benchmarks.harness import Command
from tests.interop import lab

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data" / "against-kafka"
PAGE, CHART = ROOT / "docs/against-kafka.md", ROOT / "docs/pictures/against-kafka.svg"
KIDX = Path(sys.executable).parent / "kidx"
LOG_BYTES = 256 << 20
ROUNDS = 3
SEGMENT = "00000000000000000000"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SMALL = ROOT / f"fixtures/kafka-4.3.1/clean/pages14-0/{SEGMENT}.index"
BEGIN, END = "<!-- the table of benchmarks.against_kafka -->\n", "<!-- its end -->\n"


class Run(NamedTuple):
    """Seconds on the clock, and the largest resident set of any process, in bytes."""

    seconds: float
    peak_bytes: int


class Task(NamedTuple):
    """What is done, by kidx, by DumpLogSegments, and the files that both read."""

    what: str
    kidx: Command
    kafka: Command
    files: list[Path]


def run(command: Command) -> Run:
    started = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(map(str, command))} ended with {os.waitstatus_to_exitcode(status)}")
    return Run(time.perf_counter() - started, usage.ru_maxrss << 10)


def log_of(batch_bytes: int, codec: int = 0) -> Path:
    """A log made by benchmarks.log_reading, with its indexes, in a process of its own: a command's memory is never said
    to be less than what the process that starts it had once.
    """
    if (pid := os.fork()) == 0:
        try:
            from benchmarks import log_reading

            log_reading.DATA, log_reading.LOG_BYTES = DATA, LOG_BYTES
            log = log_reading.made(batch_bytes, codec)
            subprocess.run([KIDX, "rebuild", "--in-place", log.parent], stdout=subprocess.DEVNULL, check=True)
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("the data could not be made")
    return DATA / f"{batch_bytes}-{CODECS[codec]}" / f"{SEGMENT}.log"


def dump_log_segments(*words: object) -> Command:
    return ["java", "-cp", lab.class_path(), "org.apache.kafka.tools.DumpLogSegments", *words]


def _printed(log: Path, where: str) -> Iterator[Task]:
    """Records printed in each way, against the tool's text with keys and values, or without."""
    printed = dump_log_segments("--print-data-log", "--files", log)
    for what, words in (
        ("in the tool's text", ["--format", "kafka", "--print-data-log"]),
        ("as JSON lines", ["--records", "--format", "jsonl"]),
        ("as CSV", ["--records", "--format", "csv"]),
        ("as text", ["--records"]),
    ):
        yield Task(f"print every record {what}, {where}", [KIDX, "dump", *words, log], printed, [log])
    metadata = [KIDX, "dump", "--format", "kafka", "--deep-iteration", log]
    deep = dump_log_segments("--deep-iteration", "--files", log)
    yield Task(f"print every record's metadata, {where}", metadata, deep, [log])


def tasks() -> Iterator[Task]:
    yield Task(
        "dump an index of 7,168 entries",
        [KIDX, "dump", "--format", "kafka", SMALL],
        dump_log_segments("--files", SMALL),
        [SMALL],
    )
    size = f"{LOG_BYTES >> 20} MiB log"
    for batch_bytes, name in ((200, "200 B"), (1 << 10, "1 KiB"), (16 << 10, "16 KiB"), (1 << 20, "1 MiB")):
        log = log_of(batch_bytes)
        files = [log, log.with_suffix(".index")]
        verify = [KIDX, "verify", log.parent]
        yield Task(f"check every CRC, {size}, batches of {name}", verify, dump_log_segments("--files", log), files)
        deep = dump_log_segments("--deep-iteration", "--files", log)
        yield Task(f"decode every record, {size}, batches of {name}", [*verify, "--deep"], deep, files)
        yield from _printed(log, f"{size}, batches of {name}")
        if batch_bytes == 200:
            index = log.with_suffix(".index")
            said = f"dump an index of {index.stat().st_size // 8:,} entries, held against its log"
            yield Task(said, [KIDX, "dump", "--format", "kafka", index], dump_log_segments("--files", index), files)
            dump = [KIDX, "dump", "--format", "kafka", log]
            yield Task(f"print every batch, {size}, batches of {name}", dump, dump_log_segments("--files", log), [log])
    for codec in (1, 2, 3, 4):
        log = log_of(16 << 10, codec)
        yield from _printed(log, f"{size}, batches of 16 KiB, {CODECS[codec]}")
        yield Task(
            f"decode every record, {size}, batches of 16 KiB, {CODECS[codec]}",
            [KIDX, "verify", "--deep", log.parent],
            dump_log_segments("--deep-iteration", "--files", log),
            [log, log.with_suffix(".index")],
        )


class Row(NamedTuple):
    """Medians of a task."""

    what: str
    kidx: Run
    kafka: Run
    cat_seconds: float
    times_faster: float
    times_cat: float


def measured(task: Task) -> Row:
    cat = ["cat", *task.files]
    run(cat), run(task.kidx)
    rounds = [(run(task.kidx), run(cat), run(task.kafka)) for _ in range(ROUNDS)]
    kidx, cats, kafka = zip(*rounds, strict=True)

    def middle(runs: tuple[Run, ...]) -> Run:
        return Run(median(r.seconds for r in runs), max(r.peak_bytes for r in runs))

    return Row(
        task.what,
        middle(kidx),
        middle(kafka),
        middle(cats).seconds,
        median(c.seconds / a.seconds for a, _, c in rounds),
        median(a.seconds / b.seconds for a, b, _ in rounds),
    )


def table(rows: list[Row]) -> str:
    lines = [
        "| task | kidx | DumpLogSegments | times as fast | x `cat` | kidx' memory | DumpLogSegments' |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cat = f"{row.times_cat:.1f}" if row.kafka.seconds > 1 else ""  # a small file is not read in a time to speak of
        lines.append(
            f"| {row.what} | {row.kidx.seconds:.2f} s | {row.kafka.seconds:.2f} s | {row.times_faster:.0f} "
            f"| {cat} | {row.kidx.peak_bytes >> 20} MiB | {row.kafka.peak_bytes >> 20} MiB |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    if why := lab.why_not():
        print(f"DumpLogSegments is left out: {why}")
        return
    rows = []
    try:
        for task in tasks():
            rows.append(measured(task))
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    finally:
        shutil.rmtree(DATA, ignore_errors=True)
    page = PAGE.read_text()
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}{table(rows)}{END}{after}")
    CHART.write_text(bars("times as fast as DumpLogSegments", [(row.what, row.times_faster) for row in rows]))


if __name__ == "__main__":
    main()
