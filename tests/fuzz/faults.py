"""Every system call of a command failed once: `python -m tests.fuzz.faults` (make faults), or a sample in the tests.

strace counts the calls of one run on a partition that a broker wrote, then fails each of them in turn. What must hold:
a documented exit status, no traceback, no bug of kidx, the evidence untouched; of a command that writes, the old file
or the new one, complete. Calls by which Python loads itself and its modules are left alone: only those on
the partition's files and directories are failed, and those that make processes and pipes.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support import KAFKA_SETS

SOURCE = KAFKA_SETS[0] / "clean" / "plain-0"
READING_FAULTS = ("EIO", "ENOMEM", "ESTALE", "EACCES")
WRITING_FAULTS = (*READING_FAULTS, "ENOSPC", "EROFS")
KILLS = ("signal=KILL", "retval=0:signal=KILL")  # before the call is carried out; instead of it, as if it had been
READING_CALLS = (
    "openat,open,fstat,newfstatat,stat,lstat,statx,read,pread64,preadv,preadv2,lseek,getdents64,fcntl,fadvise64,"
    "readlink,pipe2,fork,clone,clone3,vfork"
)
WRITING_CALLS = READING_CALLS + (
    ",flock,mkdir,mkdirat,write,fsync,fchown,fchmod,utimensat,fsetxattr,flistxattr,rename,renameat,renameat2,unlink,"
    "unlinkat,rmdir,ftruncate"
)
_PROCESS_CALLS = ("pipe2", "fork", "clone", "clone3", "vfork")
LOG, INDEX = "00000000000000000000.log", "00000000000000000000.index"
READING = {
    "verify": ("verify", "{p}"),
    "verify quick": ("verify", "--quick", "{p}"),
    "verify deep": ("verify", "--deep", "{p}"),
    "dump log": ("dump", "--format", "jsonl", "{p}/" + LOG),
    "dump records": ("dump", "--records", "--format", "jsonl", "{p}/" + LOG),
    "dump index": ("dump", "{p}/" + INDEX),
    "dump kafka": ("dump", "--format", "kafka", "--print-data-log", "{p}/" + LOG),
    "stat": ("stat", "{p}"),
    "lookup index": ("lookup", "{p}/" + INDEX, "100"),
    "lookup offset": ("lookup", "{p}", "--offset", "100"),
    "lookup time": ("lookup", "{p}", "--timestamp", "1700000000000"),
    "diff": ("diff", "{p}", "{p}"),
    "compact": ("compact", "--plan", "{p}"),
    "trace": ("trace", "{p}/" + INDEX, "100"),
    "trace resident": ("trace", "--resident", "{p}/" + INDEX),
    "rebuild dry": ("rebuild", "--dry-run", "{p}"),
}
WRITING = {
    "append": ("append", "--max-index-size", "4096", "{p}/" + INDEX, "1000000:100000000"),
    "truncate": ("truncate", "--to", "50", "{p}/" + INDEX),
    "resize": ("resize", "--max-index-size", "4096", "{p}/" + INDEX),
    "trim": ("trim", "{p}/" + INDEX),
    "rebuild": ("rebuild", "--in-place", "{p}"),
    "undo": ("undo", "{p}"),
}
SOUND_STATUSES = {0, 1, 2, 3}


class Fault(NamedTuple):
    """The `number`th call of that name fails with an errno, or the process is killed there."""

    command: str
    call: str
    number: int
    what: str


class Bench:
    """Runs commands under strace on copies of the partition in a directory of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def partition(self, command: str) -> Path:
        """A fresh copy, damaged for commands that repair, changed once by kidx for undo."""
        directory = self.home / "plain-0"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(SOURCE, directory)
        if command in ("rebuild", "trim", "undo"):
            with (directory / INDEX).open("ab") as f:
                f.truncate(4096)
        if command == "undo":
            subprocess.run([*_KIDX, "trim", str(directory / INDEX)], check=True, capture_output=True)
        return directory

    def run(self, command: str, *options: str) -> subprocess.CompletedProcess[bytes]:
        """The command under strace."""
        words = (READING | WRITING)[command]
        argv = [*_KIDX, *(word.format(p=self.home / "plain-0") for word in words)]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            ["strace", "-f", "-qq", *options, *argv], capture_output=True, env=environment, check=False, timeout=300
        )

    def calls(self, command: str) -> list[tuple[str, int]]:
        """Name and number of each call on the partition, or for processes. Raises OSError without strace."""
        directory = self.partition(command)
        names = WRITING_CALLS if command in WRITING else READING_CALLS
        log = self.home / "calls"
        done = self.run(command, "-y", "-o", str(log), "-e", f"trace={names}")
        if not log.exists() or done.returncode not in SOUND_STATUSES:
            raise OSError(f"strace does not trace here: {done.stderr[-200:]!r}")
        seen: Counter[tuple[str, str]] = Counter()  # strace counts the calls of each process by themselves
        found: list[tuple[str, int]] = []
        for line in log.read_text(errors="replace").splitlines():
            match = re.match(r"(\d+ +)?(\w+)\(", line)
            if match is None or "resumed>" in line:
                continue
            process, call = match[1] or "", match[2]
            seen[process, call] += 1
            if str(directory) in line or call in _PROCESS_CALLS:
                found.append((call, seen[process, call]))
        return sorted(set(found))

    def faults(self, command: str) -> Iterator[Fault]:
        """Every fault of a command."""
        kinds = (*WRITING_FAULTS, *KILLS) if command in WRITING else READING_FAULTS
        for call, number in self.calls(command):
            for what in kinds:
                yield Fault(command, call, number, what)

    def wrong(self, fault: Fault) -> str | None:
        """What a fault makes kidx do wrong, None where all is well."""
        directory = self.partition(fault.command)
        before = _files(directory)
        what = fault.what if "=" in fault.what else f"error={fault.what}"
        done = self.run(fault.command, "-o", "/dev/null", "-e", f"inject={fault.call}:{what}:when={fault.number}")
        said = done.stdout + done.stderr
        killed = "KILL" in fault.what
        if not killed and done.returncode not in SOUND_STATUSES:
            return f"status {done.returncode}: {said[-400:]!r}"
        if b"Traceback" in said or b"a bug in kidx" in said:
            return f"{said[-400:]!r}"
        after = _files(directory)
        if fault.command not in WRITING:
            return None if after == before else "the evidence was changed"
        return self._mixed(before, after, fault.command)

    def _mixed(self, before: dict[str, bytes], after: dict[str, bytes], command: str) -> str | None:
        new = self._written(command)
        for name in before.keys() | after.keys():
            if after.get(name) not in (before.get(name), new.get(name)):
                return f"{name} is neither as before nor as it is to be"
        return None

    def _written(self, command: str) -> dict[str, bytes]:
        """The files as the command leaves them where nothing fails."""
        known = getattr(self, "_known", {})
        if command not in known:
            kept = self.home / "kept"
            shutil.rmtree(kept, ignore_errors=True)
            (self.home / "plain-0").rename(kept)
            partition = self.partition(command)
            words = [word.format(p=partition) for word in WRITING[command]]
            subprocess.run([*_KIDX, *words], check=True, capture_output=True)
            known[command] = _files(self.home / "plain-0")
            self._known = known
        return known[command]


_KIDX = (sys.executable, "-m", "kidx")


def _files(directory: Path) -> dict[str, bytes]:
    """The partition's own files; the workplace is no evidence."""
    return {f.name: f.read_bytes() for f in sorted(directory.iterdir()) if f.is_file()}


def main(argv: Sequence[str] | None = None) -> int:
    """Fail every call, or a sample, and print what went wrong."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--sample", type=int, help="so many faults a command, from a seed")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("commands", nargs="*", default=[*READING, *WRITING])
    asked = parser.parse_args(argv)
    chance = random.Random(asked.seed)
    print(f"seed {asked.seed}")
    known = total = wrong = 0
    with tempfile.TemporaryDirectory(prefix="kidx-faults-") as home:
        bench = Bench(Path(home))
        for command in asked.commands:
            every = list(bench.faults(command))
            faults = every if asked.sample is None else chance.sample(every, min(asked.sample, len(every)))
            bad = [(fault, said) for fault in faults if (said := bench.wrong(fault))]
            known, total, wrong = known + len(every), total + len(faults), wrong + len(bad)
            print(f"{command}: {len(faults)} of {len(every)} faults, {len(bad)} wrong", flush=True)
            for fault, said in bad:
                print(f"  {fault.call} {fault.number} {fault.what}: {said}", flush=True)
    print(f"{total} of {known} faults of {len(asked.commands)} commands, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
