"""`python -m benchmarks.commands`: what each command costs; writes the table of docs/speed.md.

Each command is run as a process of its own: on next to nothing (its cold start), on data of one size, and on ten times
as much. Times are processor time of all its processes, which other work on the machine stretches less than the clock's.
The yardsticks of a start are `python -c pass` and an empty Click program, in turns with it. Medians; memory is the
largest resident set of any of a command's processes (ru_maxrss). Needs 700 MB below benchmarks/data.

    python -m benchmarks.commands [WORD...]     # only commands with one of these words, for now
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent
DATA = HERE / "data" / "commands"
PAGE = ROOT / "docs" / "speed.md"
KIDX = Path(sys.executable).parent / "kidx"
CLEAN = ROOT / "fixtures/kafka-4.3.1/clean"
STORE = ROOT / "fixtures/rocketmq-5.5.1/plain/store"
SEGMENT = "00000000000000000000"
BEGIN, END = "<!-- the table of benchmarks.commands -->\n", "<!-- its end -->\n"
EMPTY_CLICK = "import click\n@click.command()\ndef main(): pass\nmain()\n"
STARTS, RUNS = 7, 3
LONG_S = 3  # what takes longer is not repeated


class Measured(NamedTuple):
    """Seconds on the clock, of processors, and bytes of memory."""

    seconds: float
    processor_seconds: float
    peak_bytes: float


# What is run, on small files for the start ({clean}, {store}: fixtures) and on {data} of both sizes; "" where a
# command's input has no size.
COMMANDS = (
    ("verify", "verify {clean}/plain-0", "verify {data}/users-0"),
    ("verify --deep", "verify --deep {clean}/plain-0", "verify --deep {data}/users-0"),
    ("verify --quick", "verify --quick {clean}/plain-0", "verify --quick {data}/fleet"),
    ("explain", "explain KX105", ""),
    ("diff", "diff {clean}/plain-0 {clean}/plain-0", "diff {data}/users-0 {data}/replica/users-0"),
    ("dump, an index", "dump {clean}/plain-0/{segment}.index", "dump {data}/index/{segment}.index"),
    (
        "dump --format jsonl",
        "dump --format jsonl {clean}/plain-0/{segment}.index",
        "dump --format jsonl {data}/index/{segment}.index",
    ),
    ("dump, a log", "dump {clean}/plain-0/{segment}.log", "dump {data}/users-0/{segment}.log"),
    ("dump --records", "dump --records {clean}/plain-0/{segment}.log", "dump --records {data}/users-1/{segment}.log"),
    (
        "dump --decode",
        "dump --decode {clean}/__consumer_offsets-0/{segment}.log",
        "dump --decode {data}/__consumer_offsets-0/{segment}.log",
    ),
    (
        "dump --format kafka --print-data-log",
        "dump --format kafka --print-data-log {clean}/plain-0/{segment}.log",
        "dump --format kafka --print-data-log {data}/users-1/{segment}.log",
    ),
    ("stat", "stat {clean}/plain-0", "stat {data}/fleet"),
    ("lookup, an index", "lookup {clean}/plain-0/{segment}.index 70", "lookup {data}/index/{segment}.index 70000"),
    ("lookup --offset", "lookup {clean}/plain-0 --offset 70", "lookup {data}/users-0 --offset 100000"),
    (
        "lookup --timestamp",
        "lookup {clean}/plain-0 --timestamp 1700018036000",
        "lookup {data}/users-0 --timestamp 1700000000000",
    ),
    ("trace", "trace {clean}/plain-0/{segment}.index 70", "trace {data}/index/{segment}.index 70000"),
    (
        "trace --workload all",
        "trace --workload all {clean}/plain-0/{segment}.index",
        "trace --workload all {data}/index/{segment}.index",
    ),
    ("state", "state {clean}/__consumer_offsets-0", "state {data}/__consumer_offsets-0"),
    ("compact --plan", "compact --plan {clean}/plain-0", "compact --plan {data}/users-0"),
    ("rebuild", "rebuild --dry-run {clean}/plain-0", "rebuild --dry-run {data}/users-0"),
    ("undo", "undo --dry-run {scratch}", "undo --dry-run {data}/users-0"),
    (
        "append",
        "append --dry-run --max-index-size 1024 {clean}/plain-0/{segment}.index 999:99999",
        "append --dry-run {data}/index/{segment}.index 2000000000:2000000000",
    ),
    (
        "truncate",
        "truncate --dry-run --to 9 {clean}/plain-0/{segment}.index",
        "truncate --dry-run --to 100000 {data}/index/{segment}.index",
    ),
    ("trim", "trim --dry-run {clean}/plain-0/{segment}.index", "trim --dry-run {data}/index/{segment}.index"),
    (
        "resize",
        "resize --dry-run --max-index-size 4096 {clean}/plain-0/{segment}.index",
        "resize --dry-run --max-index-size 16MiB {data}/index/{segment}.index",
    ),
    ("rocketmq verify", "rocketmq verify {store}", "rocketmq verify {data}/store"),
    ("rocketmq stat", "rocketmq stat {store}", "rocketmq stat {data}/store"),
    ("rocketmq dump", "rocketmq dump {store}/consumequeue", "rocketmq dump {data}/store/commitlog"),
    (
        "rocketmq lookup",
        "rocketmq lookup {store} Orders 0 --time 1618699700000",
        "rocketmq lookup {data}/store T 0 --time 1700000010000",
    ),
    (
        "rocketmq pull",
        "rocketmq pull {store} Orders 0 --offset 3 --memory 1MiB",
        "rocketmq pull {data}/store T 0 --offset 9000 --memory 1MiB",
    ),
    ("rocketmq diff", "rocketmq diff {store} {store}", "rocketmq diff {data}/store {data}/store"),
    ("scan", "", "scan --master local[2] {data}/fleet"),
    ("completion", "completion bash", ""),
    ("--help", "--help", ""),
)  # fmt: skip


def once(words: Sequence[object]) -> Measured:
    """Run a process; what it prints is thrown away."""
    nowhere = subprocess.DEVNULL
    started = time.perf_counter()
    process = subprocess.Popen([str(word) for word in words], stdout=nowhere, stderr=subprocess.PIPE)
    assert process.stderr
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(map(str, words))}: status {process.returncode}: {said.decode()}")
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def several(words: Sequence[object]) -> Measured:
    """Medians of some runs, of one where it is long."""
    runs = [once(words)]
    while len(runs) < RUNS and sum(run.seconds for run in runs) < LONG_S:
        runs.append(once(words))
    return middle(runs)


def middle(runs: Sequence[Measured]) -> Measured:
    return Measured(*(median(values) for values in zip(*runs, strict=True)))


def kidx(line: str, data: str = "") -> list[object]:
    """A command line of COMMANDS with its places filled in."""
    places = {"clean": CLEAN, "store": STORE, "segment": SEGMENT, "data": DATA / data, "scratch": DATA / "scratch"}
    return [KIDX, *line.format(**places).split()]


def row(name: str, small: str, large: str) -> str:
    """A command's row of the table, measured."""
    cells = [f"`kidx {name}`" if "," not in name else f"`kidx {name.split(',')[0]}`,{name.split(',')[1]}"]
    if small:
        empty = [sys.executable, DATA / "empty_click.py"]
        runs = [(once(kidx(small)), once(empty)) for _ in range(STARTS + 1)][1:]
        start = middle([run for run, _ in runs])
        ratio = median(run.processor_seconds / yardstick.processor_seconds for run, yardstick in runs)
        cells += [f"{start.processor_seconds * 1000:.0f} ms", f"{ratio:.1f}x", f"{start.peak_bytes / 1e6:.0f} MB"]
    else:
        cells += ["-", "-", "-"]
    if large:
        one, ten = (several(kidx(large, size)) for size in ("1x", "10x"))
        longer = ten.processor_seconds / one.processor_seconds
        cells += [f"{one.processor_seconds:.2f} s", f"{ten.processor_seconds:.2f} s", f"{longer:.1f}x"]
        cells += [f"{one.peak_bytes / 1e6:.0f} MB", f"{ten.peak_bytes / 1e6:.0f} MB"]
    else:
        cells += ["-"] * 5
    return "| " + " | ".join(cells) + " |"


def yardstick(line: Sequence[object]) -> str:
    start = middle([once([sys.executable, *line]) for _ in range(STARTS + 1)][1:])
    name = "`python -c pass`" if line[0] == "-c" else "an empty Click program"
    cells = [name, f"{start.processor_seconds * 1000:.0f} ms", "", f"{start.peak_bytes / 1e6:.0f} MB", *[""] * 5]
    return "| " + " | ".join(cells) + " |"


def measure(words: Sequence[str]) -> dict[str, str]:
    """Rows by command: those asked for, and what was measured before."""
    kept = DATA / "rows.json"
    rows: dict[str, str] = json.loads(kept.read_text()) if kept.exists() else {}
    for name, small, large in COMMANDS:
        if not words or any(word in name for word in words):
            rows[name] = row(name, small, large)
            print(rows[name], flush=True)
            kept.write_text(json.dumps(rows))
    return rows


def table(rows: dict[str, str]) -> str:
    head = ["command", "start", "÷ empty Click", "memory", "1x", "10x", "longer", "memory, 1x", "memory, 10x"]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    lines += [yardstick(["-c", "pass"]), yardstick([DATA / "empty_click.py"])]
    return "\n".join([*lines, *(rows[name] for name, _, _ in COMMANDS)]) + "\n"


def main(words: Sequence[str]) -> None:
    subprocess.run([sys.executable, "-m", "benchmarks.command_data"], cwd=ROOT, check=True)
    (DATA / "empty_click.py").write_text(EMPTY_CLICK)
    rows = measure(words)
    missing = [name for name, _, _ in COMMANDS if name not in rows]
    if missing:
        print(f"{len(missing)} commands are not measured yet, so {PAGE.name} stays as it is")
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + table(rows) + END + rest.partition(END)[2])


if __name__ == "__main__":
    main(sys.argv[1:])
