"""`python -m benchmarks.commands`: what each command costs; writes the table of docs/speed.md.

Each command is run as a process of its own: on next to nothing (its cold start), on data of one size, and on ten times
as much. The yardsticks of a start are `python -c pass` and an empty Click program, in turns with it. Times are medians;
memory is the largest resident set of any of a command's processes (ru_maxrss). Needs 700 MB below benchmarks/data.

    python -m benchmarks.commands [WORD...]     # only commands that hold one of these words; the table is not written
"""

from __future__ import annotations

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


class Measured(NamedTuple):
    """Seconds on the clock and bytes of memory: medians."""

    seconds: float
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
    ("dump --records", "dump --records {clean}/plain-0/{segment}.log", "dump --records {data}/users-0/{segment}.log"),
    (
        "dump --decode",
        "dump --decode {clean}/__consumer_offsets-0/{segment}.log",
        "dump --decode {data}/__consumer_offsets-0/{segment}.log",
    ),
    (
        "dump --format kafka --print-data-log",
        "dump --format kafka --print-data-log {clean}/plain-0/{segment}.log",
        "dump --format kafka --print-data-log {data}/users-0/{segment}.log",
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
    return Measured(seconds, usage.ru_maxrss * 1024)


def middle(runs: Sequence[Measured]) -> Measured:
    return Measured(median(run.seconds for run in runs), median(run.peak_bytes for run in runs))


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
        ratio = median(run.seconds / yardstick.seconds for run, yardstick in runs)
        cells += [f"{start.seconds * 1000:.0f} ms", f"{ratio:.1f}x", f"{start.peak_bytes / 1e6:.0f} MB"]
    else:
        cells += ["-", "-", "-"]
    if large:
        runs_of = {size: [once(kidx(large, size)) for _ in range(RUNS + 1)][1:] for size in ("1x", "10x")}
        one, ten = middle(runs_of["1x"]), middle(runs_of["10x"])
        cells += [f"{one.seconds:.2f} s", f"{ten.seconds:.2f} s", f"{ten.seconds / one.seconds:.1f}x"]
        cells += [f"{one.peak_bytes / 1e6:.0f} MB", f"{ten.peak_bytes / 1e6:.0f} MB"]
    else:
        cells += ["-"] * 5
    return "| " + " | ".join(cells) + " |"


def table(words: Sequence[str]) -> str:
    """The whole table; each row is shown on standard error as it is measured."""
    head = [
        "command",
        "start",
        "of an empty Click program",
        "memory",
        "1x",
        "10x",
        "longer",
        "memory, 1x",
        "memory, 10x",
    ]
    rows = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for name, line in (("python -c pass", ["-c", "pass"]), ("an empty Click program", [DATA / "empty_click.py"])):
        start = middle([once([sys.executable, *line]) for _ in range(STARTS + 1)][1:])
        cells = [f"{start.seconds * 1000:.0f} ms", "", f"{start.peak_bytes / 1e6:.0f} MB", *[""] * 5]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    for name, small, large in COMMANDS:
        if not words or any(word in name for word in words):
            rows.append(row(name, small, large))
            print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows) + "\n"


def main(words: Sequence[str]) -> None:
    subprocess.run([sys.executable, "-m", "benchmarks.command_data"], cwd=ROOT, check=True)
    (DATA / "empty_click.py").write_text(EMPTY_CLICK)
    measured = table(words)
    print(measured)
    if not words:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(before + BEGIN + measured + END + rest.partition(END)[2])


if __name__ == "__main__":
    main(sys.argv[1:])
