"""Change one clause of a rule at a time and see whether the tests near it notice.

    python -m tests.mutants [--count 300] [--seed SEED] [--jobs 2] [PATH ...]

A random sample, from a seed that is printed, of all one-clause changes to the rooms below (or to PATH ...). Each is
made in a copy of the checkout and judged by the tests of its room, the tests named after its module first; a mutant
that a test notices, or that never ends, is killed. Survivors that are known, with the reason, stand in survivors.tsv.
The status is 1 if a survivor is not listed there or fewer than 95 % of the sample are killed.
"""

from __future__ import annotations

import argparse
import csv
import os
import queue
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tests.mutants.operators import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("kidx/checks/rules", "kidx/lookup", "kidx/surgery")
KNOWN = Path(__file__).with_name("survivors.tsv")  # path, function, before, after, kind (equivalent, accepted), reason
COPIED = ("kidx", "tests", "fixtures", "docs", "man", "pyproject.toml", "README.md")
WANTED = 0.95
MEMORY_BYTES = 8 << 30
WAIT_S = 600  # a mutant that sleeps for ever


class Checkout:
    """A copy of the checkout in which mutants are run, one at a time."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in COPIED:
            self._copy(name)
        # Compiled code is used as long as the hash of its source is the same; times are too coarse for mutants.
        compiled = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "kidx"]
        subprocess.run(compiled, cwd=place, check=True)
        self._fixtures = self._state()

    def _copy(self, name: str) -> None:
        source, target = ROOT / name, self.place / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
        else:
            shutil.copy2(source, target)

    def _state(self) -> list[tuple[str, int, int]]:
        files = sorted(p for p in (self.place / "fixtures").rglob("*"))
        return [(str(p), s.st_size, s.st_mtime_ns) for p in files for s in [p.lstat()] if not p.is_dir()]

    def test(self, path: str, processor_s: int | None = None) -> bool:
        """Whether the tests near a module pass, each process in `processor_s` of the processor's time.

        Without a limit, on the first run, the compiled tests are kept.
        """
        scratch = self.place / "tmp"
        scratch.mkdir()
        env = {**os.environ, "PYTHONPATH": str(self.place), "TMPDIR": str(scratch), "PYTHONHASHSEED": "0"}
        env.pop("KIDX_FIXTURES", None)
        if processor_s:
            env["PYTHONDONTWRITEBYTECODE"] = "1"
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        with open(self.place / "output", "wb") as output:
            running = subprocess.Popen(
                command + tests_near(path, self.place),
                cwd=self.place,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: _limit(processor_s),
            )
        try:
            return running.wait(processor_s and WAIT_S) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            shutil.rmtree(scratch)
            if self._state() != self._fixtures:
                shutil.rmtree(self.place / "fixtures")
                self._copy("fixtures")
                self._fixtures = self._state()

    def survives(self, mutant: Mutant, processor_s: int) -> bool:
        """Whether the tests near a mutant pass with it."""
        file = self.place / mutant.path
        source = file.read_bytes()
        file.write_bytes(mutant.apply(source))
        try:
            return self.test(mutant.path, processor_s)
        finally:
            file.write_bytes(source)


def _limit(processor_s: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    if processor_s:
        resource.setrlimit(resource.RLIMIT_CPU, (processor_s, processor_s))


def tests_near(path: str, root: Path = ROOT) -> list[str]:
    """The tests of a module's room, those named after the module first."""
    room = Path("tests", Path(path).parts[1])
    named = sorted((root / room).rglob(f"test_{Path(path).stem}*.py"))
    rest = sorted(f for f in (root / room).rglob("test_*.py") if f not in named)
    return [str(f.relative_to(root)) for f in (*named, *rest)]


def room_of(mutant: Mutant) -> str:
    return "/".join(Path(mutant.path).parts[:2])


def known_survivors() -> dict[tuple[str, str, str, str], str]:
    with KNOWN.open(newline="", encoding="utf-8") as f:
        rows = csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return {(path, function, before, after): f"{kind}: {why}" for path, function, before, after, kind, why in rows}


def files_of(places: list[str]) -> list[Path]:
    missing = [p for p in places if not (ROOT / p).exists()]
    if missing:
        sys.exit(f"no such file or directory: {', '.join(missing)}")
    found = {f for p in places for f in ([ROOT / p] if (ROOT / p).is_file() else (ROOT / p).rglob("*.py"))}
    return sorted(found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=300, help="how many mutants (default 300)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="which sample (default: random)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("paths", nargs="*", metavar="PATH", help=f"files or directories (default: {' '.join(ROOMS)})")
    asked = parser.parse_args()
    everything = [
        m for f in files_of(asked.paths or list(ROOMS)) for m in mutants_of(str(f.relative_to(ROOT)), f.read_bytes())
    ]
    sample = random.Random(asked.seed).sample(everything, min(asked.count, len(everything)))
    sample.sort(key=lambda m: (m.path, m.start))
    print(f"{len(sample)} of {len(everything)} mutants, seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kidx-mutants-") as place:
        return run(sample, Path(place), asked.jobs)


def _used() -> float:
    """Seconds of the processor that processes which have ended used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(sample: list[Mutant], place: Path, jobs: int) -> int:
    """Run every mutant, print a line each, and the status."""
    checkouts: queue.Queue[Checkout] = queue.Queue()
    limits: dict[str, int] = {}
    for number in range(jobs):
        checkout = Checkout(place / str(number))
        for room in sorted(set(map(room_of, sample))):
            before = _used()
            if not checkout.test(f"{room}/-"):
                output = (checkout.place / "output").read_text(errors="replace")
                sys.exit(f"{output}\nthe tests near {room} fail without a mutant")
            limits[room] = 10 + 3 * int(_used() - before)
        checkouts.put(checkout)

    def survives(mutant: Mutant) -> bool:
        checkout = checkouts.get()
        try:
            return checkout.survives(mutant, limits[room_of(mutant)])
        finally:
            checkouts.put(checkout)

    known, counts = known_survivors(), dict.fromkeys(("killed", "listed", "survived"), 0)
    pool = ThreadPoolExecutor(jobs)
    try:
        for mutant, survived in zip(sample, pool.map(survives, sample), strict=True):
            reason = known.get((mutant.path, mutant.function, mutant.before, mutant.after))
            verdict = ("listed" if reason else "survived") if survived else "killed"
            counts[verdict] += 1
            print(f"{verdict}\t{mutant.path}:{mutant.line}\t{mutant.function}")
            print(f"\t- {mutant.before}\n\t+ {mutant.after}", flush=True)
            if reason:
                print(f"\t{reason if survived else 'listed as a survivor, but killed: ' + reason}")
    finally:
        pool.shutdown(cancel_futures=True)
    share = counts["killed"] / max(1, len(sample))
    print(f"{share:.1%} killed; " + ", ".join(f"{number} {what}" for what, number in counts.items()))
    return int(counts["survived"] > 0 or share < WANTED)


if __name__ == "__main__":
    sys.exit(main())
