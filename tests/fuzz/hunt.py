"""The hunt: seed after seed, one mutated file each, given to kidx in this process.

A seed alone decides case, file, mutation and commands (with the same fixtures), so a find is told by its seed.
"""

from __future__ import annotations

import gc
import os
import random
import resource
import shutil
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kidx.logdir.names import LOG, OFFSET, PRODUCER_SNAPSHOT, TIME, TRANSACTION
from tests.fuzz.claims import honest, well_behaved
from tests.fuzz.commands import Words, another, verify_of
from tests.fuzz.corpus import Case, kafka_cases, kind_of, log_dir_cases, rocketmq_cases
from tests.fuzz.mutate import Mutated, mutate
from tests.support import Ran, kidx_here

SECONDS_A_FILE = 5  # of processor time; the slowest sane one takes a twentieth
MEMORY_BYTES = 256 << 20  # what one file of some kilobytes may add to the process' largest size
_SHARES = {LOG: 46, OFFSET: 14, TIME: 14, TRANSACTION: 8, PRODUCER_SNAPSHOT: 6, "rocketmq": 5, "other": 7}


class Find(NamedTuple):
    """A broken claim."""

    seed: int
    file: str
    verbs: tuple[str, ...]
    words: Words
    what: str


class Shot(NamedTuple):
    """What a seed stands for; `another` is the second command line, `check` the first."""

    case: Case
    name: str
    mutated: Mutated
    check: Words
    another: Words


class TookTooLong(BaseException):
    """Raised by the watchdog inside whatever is running; no handler of kidx catches it."""


class Hunt:
    """The cases laid out below `root`, one file mutated at a time and restored afterwards."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._cases: dict[str, list[tuple[Case, str]]] = {}
        self._homes: dict[str, Path] = {}
        for case in (*kafka_cases(), *log_dir_cases(), *rocketmq_cases()):
            self._homes[case.name] = case.lay_out(root)
            for name in case.files:
                kind = "rocketmq" if case.rocketmq else kind_of(name)
                self._cases.setdefault(kind if kind in _SHARES else "other", []).append((case, name))
        self._donors = [case.files[name] for case, name in self._cases[LOG]]

    def shot(self, seed: int) -> Shot:
        """The seed's case, mutated file and command lines."""
        chance = random.Random(seed)
        shares = {kind: share for kind, share in _SHARES.items() if kind in self._cases}
        kind = chance.choices(list(shares), list(shares.values()))[0]
        case, name = chance.choice(self._cases[kind])
        mutated = mutate(case.files[name], kind_of(name), chance, self._donors)
        home = self._homes[case.name]
        more = another(case, home, name, kind_of(name), chance, self.root / "scratch")
        return Shot(case, name, mutated, verify_of(case, home), more)

    def run(self, seed: int) -> Iterator[Find]:
        """Lay the mutated file down, run both commands over it, and put the old one back."""
        if seed % 500 == 0:
            gc.unfreeze()  # a process of kidx's own ends frozen; this one goes on, and has to collect what it made
            gc.collect()
        shot = self.shot(seed)
        path = self.lay_down(shot)
        try:
            for words in (shot.check, shot.another):
                for what in self._run(words, shot):
                    yield Find(seed, f"{shot.case.name}/{shot.name}", shot.mutated.verbs, words, what)
        finally:
            path.write_bytes(shot.case.files[shot.name])
            if shot.another[0] == "rebuild":
                shutil.rmtree(self.root / "scratch", ignore_errors=True)

    def lay_down(self, shot: Shot) -> Path:
        """Overwrite the case's file with the mutated one."""
        path = self._homes[shot.case.name] / shot.name
        path.write_bytes(shot.mutated.data)
        return path

    def _run(self, words: Words, shot: Shot) -> Iterator[str]:
        largest = _largest_bytes()
        try:
            ran = watched(words)
        except TookTooLong:
            yield f"it took more than {SECONDS_A_FILE} s of processor time"
            return
        grown = _largest_bytes() - largest
        if grown > MEMORY_BYTES:
            yield f"the process grew by {grown >> 20} MiB"
        yield from well_behaved(words, ran)
        if words is shot.check:
            files = shot.case.files | {shot.name: shot.mutated.data}
            yield from honest(shot.case, shot.name, shot.mutated, files, ran)


def watched(words: Words) -> Ran:
    """Run kidx in this process under the watchdog. Raises TookTooLong."""
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_A_FILE)
    try:
        return kidx_here(*words)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def prepare() -> None:
    """Python's warnings become failures, and a bug's place is told."""
    warnings.simplefilter("error")
    os.environ["KIDX_TRACEBACK"] = "1"
    os.environ["COLUMNS"] = "100"


def _too_long(*_: object) -> None:
    raise TookTooLong


def _largest_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
