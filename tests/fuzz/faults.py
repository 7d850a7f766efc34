"""Every system call of a command failed once: `python -m tests.fuzz.faults` (make faults), or a sample in the tests.

strace counts the calls of one run on files that a broker wrote, then fails each of them in turn. What must hold: a
documented exit status, no traceback, no bug of kidx; of a command that reads, the evidence untouched, and the very
output of an undisturbed run or status 3 without a new finding; of a command that writes, the old file or the new one,
complete. Only calls on the files and directories that are read or written are failed, and those that make
processes and pipes. Each run is a fork of this process, which has loaded kidx, so that a run takes milliseconds.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import io
import os
import pkgutil
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

import kidx
from kidx import exit_status
from kidx.cli import main as kidx_main
from tests.support import FIXTURES, KAFKA_SETS

LOG_DIR = KAFKA_SETS[0] / "clean"
PARTITIONS = ("plain-0", "__consumer_offsets-0")
STORE = FIXTURES / "rocketmq-5.5.1" / "plain" / "store"
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
# {d}: a log dir; {p}: a partition in it; {r}: a RocketMQ store.
READING = {
    "verify": ("verify", "--format", "jsonl", "{p}"),
    "verify quick": ("verify", "--format", "jsonl", "--quick", "{p}"),
    "verify deep": ("verify", "--format", "jsonl", "--deep", "{p}"),
    "verify log dir": ("verify", "--format", "jsonl", "--jobs", "2", "{d}"),
    "verify damaged": ("verify", "--format", "jsonl", "--jobs", "2", "{d}"),
    "verify damaged partition": ("verify", "--format", "jsonl", "{p}"),
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
    "startup": ("startup", "--format", "jsonl", "{d}"),
    "startup damaged": ("startup", "--format", "jsonl", "{d}"),
    "state": ("state", "{d}/__consumer_offsets-0"),
    "trace": ("trace", "{p}/" + INDEX, "100"),
    "trace resident": ("trace", "--resident", "{p}/" + INDEX),
    "rebuild dry": ("rebuild", "--dry-run", "{p}"),
    "rocketmq verify": ("rocketmq", "verify", "--format", "jsonl", "{r}"),
    "rocketmq stat": ("rocketmq", "stat", "{r}"),
    "rocketmq lookup": ("rocketmq", "lookup", "{r}", "Orders", "0", "--time", "1618699700000"),
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
_PR_SET_PTRACER = 0x59616D61  # linux/prctl.h: a process that is not an ancestor may trace this one
_LONGEST_S = 120


class Fault(NamedTuple):
    """The `number`th call of that name fails with an errno, or the process is killed there."""

    command: str
    call: str
    number: int
    what: str


class Bench:
    """Runs commands under strace on copies of the evidence in a directory of its own."""

    def __init__(self, home: Path) -> None:
        self.evidence, self._templates, self._printed = home / "evidence", home / "templates", home / "printed"
        self._laid_out: str | None = None  # the kind of evidence that is there, unchanged
        self._undisturbed: dict[str, tuple[int, bytes, dict[str, bytes]]] = {}
        for module in pkgutil.walk_packages(kidx.__path__, "kidx."):
            if "pipeline" not in module.name and "__main__" not in module.name:
                with suppress(ImportError):  # its extra is not installed
                    importlib.import_module(module.name)

    def words(self, command: str) -> list[str]:
        """The command line."""
        places = {"d": self.evidence / "logs", "p": self.evidence / "logs" / "plain-0", "r": self.evidence / "store"}
        return [word.format(**places) for word in (READING | WRITING)[command]]

    def lay_out(self, command: str) -> None:
        """Unchanged evidence: damaged for commands that repair, changed once by kidx for undo."""
        kind = "damaged" if "damaged" in command else command if command in ("rebuild", "trim", "undo") else "plain"
        kind = "store" if command.startswith("rocketmq") else kind
        if self._laid_out == kind:
            return
        shutil.rmtree(self.evidence, ignore_errors=True)
        template = self._templates / kind
        if kind == "store" and not template.exists():
            shutil.copytree(STORE, template / "store")
        if not template.exists():
            for partition in PARTITIONS:
                shutil.copytree(LOG_DIR / partition, self.evidence / "logs" / partition)
            for file in LOG_DIR.iterdir():
                if file.is_file():
                    shutil.copy2(file, self.evidence / "logs")
            if kind == "damaged":
                (self.evidence / "logs" / "plain-0" / "partition.metadata").unlink()
                (self.evidence / "logs" / "plain-0" / "00000000000000000190.index").unlink()
                (self.evidence / "logs" / "cleaner-offset-checkpoint").write_bytes(b"0\n7\n")
                os.truncate(self.evidence / "logs" / "plain-0" / LOG, 9000)
            elif kind != "plain":
                os.truncate(self.evidence / "logs" / "plain-0" / INDEX, 4096)
            if kind == "undo":
                self._wait(self._start(self.words("trim")))
            self._templates.mkdir(exist_ok=True)
            self.evidence.rename(template)
        shutil.copytree(template, self.evidence)
        self._laid_out = kind if command in READING else None

    def calls(self, command: str) -> list[tuple[str, int]]:
        """Name and number of each call on the evidence, or for processes. Raises OSError where strace cannot trace."""
        self.lay_out(command)
        log = self._printed.with_name("calls")
        names = WRITING_CALLS if command in WRITING else READING_CALLS
        status, printed = self.run(command, "-y", "-o", str(log), "-e", f"trace={names}")
        if not log.exists() or status not in SOUND_STATUSES:
            raise OSError(f"strace does not trace here: {printed[-200:]!r}")
        seen: Counter[tuple[str, str]] = Counter()  # strace counts the calls of each process by themselves
        found: list[tuple[str, int]] = []
        for line in log.read_text(errors="replace").splitlines():
            match = re.match(r"(\d+ +)?(\w+)\(", line)
            if match is None:
                continue
            process, call = match[1] or "", match[2]
            seen[process, call] += 1
            if str(self.evidence) in line or call in _PROCESS_CALLS:
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
        usual_status, usual, new = self.undisturbed(fault.command)
        self.lay_out(fault.command)
        before = _files(self.evidence)
        what = fault.what if "=" in fault.what else f"error={fault.what}"
        status, printed = self.run(
            fault.command, "-o", "/dev/null", "-e", f"inject={fault.call}:{what}:when={fault.number}"
        )
        if status not in SOUND_STATUSES and not ("KILL" in fault.what and status == -signal.SIGKILL):
            return f"status {status}: {printed[-400:]!r}"
        if b"Traceback" in printed or b"a bug in kidx" in printed:
            return f"{printed[-400:]!r}"
        after = _files(self.evidence)
        if fault.command not in WRITING:
            if after != before:
                self._laid_out = None
                return "the evidence was changed"
            return _misjudged(status, printed, usual_status, usual, forbidden=fault.what == "EACCES")
        for name in before.keys() | after.keys():
            if after.get(name) not in (before.get(name), new.get(name)):
                return f"{name} is neither as before nor as it is to be"
        return None

    def undisturbed(self, command: str) -> tuple[int, bytes, dict[str, bytes]]:
        """Exit status, output and files of a command where nothing fails."""
        if command not in self._undisturbed:
            self.lay_out(command)
            status = self._wait(self._start(self.words(command)))
            self._undisturbed[command] = status, self._printed.read_bytes(), _files(self.evidence)
        return self._undisturbed[command]

    def run(self, command: str, *options: str) -> tuple[int, bytes]:
        """Run the command under strace: its exit status (-9 where it was killed) and all that it printed."""
        process = self._start(self.words(command), stopped=True)
        tracer = subprocess.Popen(["strace", "-f", "-p", str(process), *options], stderr=subprocess.PIPE)
        assert tracer.stderr is not None
        attached = b"attached" in tracer.stderr.readline()
        os.kill(process, signal.SIGCONT if attached else signal.SIGKILL)
        status = self._wait(process)
        _, said = tracer.communicate(timeout=_LONGEST_S)
        if not attached:
            raise OSError(f"strace does not trace here: {said[-200:]!r}")
        return status, self._printed.read_bytes()

    def _start(self, words: list[str], stopped: bool = False) -> int:
        """A fork that runs a command line; its process id. It waits for SIGCONT where it is to start `stopped`."""
        process = os.fork()
        if process == 0:
            _be_kidx(words, self._printed, stopped)
        if stopped:
            os.waitpid(process, os.WUNTRACED)
        return process

    def _wait(self, process: int) -> int:
        end = time.monotonic() + _LONGEST_S
        while time.monotonic() < end:
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        raise AssertionError(f"it runs for more than {_LONGEST_S} s")


def _misjudged(status: int, printed: bytes, usual_status: int, usual: bytes, *, forbidden: bool) -> str | None:
    """How a failed call was taken for damage, or for nothing. Not every user may read what is outside the target."""
    lines, usual_lines = printed.splitlines(), set(usual.splitlines())
    findings = [line for line in lines if b"kidx.finding.v1" in line]
    if new := [line for line in findings if line not in usual_lines]:
        return f"status {status}, as if it were damage: {new[0][-400:]!r}"
    if status == exit_status.UNREADABLE:
        reported = b"kidx.summary.v1" in printed or b"kidx.summary.v1" not in usual
        return None if reported else f"the report is lost: {printed[-400:]!r}"
    if printed == usual or (forbidden and findings != usual_lines and status <= usual_status):
        return None
    return f"status {status}, with another output: {printed[-400:]!r}"


def _be_kidx(words: list[str], printed: Path, stopped: bool) -> NoReturn:
    """Run a command line as a process of its own would, and end."""
    status = 1
    try:
        os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), 1)
        os.dup2(1, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(fd, "w"), write_through=fd == 2) for fd in (1, 2))
        if stopped:
            ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1))
            os.kill(os.getpid(), signal.SIGSTOP)
        kidx_main(words)
    except SystemExit as e:
        status = int(e.code or 0)
        sys.stderr.flush()
    except BaseException as e:
        os.write(2, f"Traceback: {e!r}".encode())
    finally:
        os._exit(status)


def _files(directory: Path) -> dict[str, bytes]:
    """All files below a directory; the workplace is no evidence."""
    return {
        str(f.relative_to(directory)): f.read_bytes()
        for f in sorted(directory.rglob("*"))
        if f.is_file() and ".kidx" not in f.parts
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Fail every call, or a sample, and print what went wrong."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--sample", type=int, help="so many faults a command, from a seed")
    parser.add_argument("--minutes", type=float, help="stop after this time, each command after its share of it")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("commands", nargs="*", default=[*READING, *WRITING])
    asked = parser.parse_args(argv)
    chance = random.Random(asked.seed)
    if asked.sample is not None or asked.minutes is not None:
        print(f"seed {asked.seed}")
    known = total = wrong = 0
    until = None if asked.minutes is None else time.monotonic() + 60 * asked.minutes
    with tempfile.TemporaryDirectory(prefix="kidx-faults-") as home:
        bench = Bench(Path(home))
        for left, command in zip(range(len(asked.commands), 0, -1), asked.commands, strict=True):
            share = None if until is None else time.monotonic() + (until - time.monotonic()) / left
            every = list(bench.faults(command))
            faults = every
            if asked.sample is not None or share is not None:
                faults = chance.sample(every, min(asked.sample or len(every), len(every)))
            done = bad = 0
            for fault in faults:
                if share is not None and time.monotonic() > share:
                    break
                done += 1
                if said := bench.wrong(fault):
                    bad += 1
                    print(f"  {fault.call} {fault.number} {fault.what}: {said}", flush=True)
            known, total, wrong = known + len(every), total + done, wrong + bad
            print(f"{command}: {done} of {len(every)} faults, {bad} wrong", flush=True)
    print(f"{total} of {known} faults of {len(asked.commands)} commands, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
