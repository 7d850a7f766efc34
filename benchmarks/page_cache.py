"""`python -m benchmarks.page_cache`: kidx's predictions beside this machine's own page cache. Needs a disk.

First by eviction: random look-ups, each with nothing of the index in memory, predicted pages against those that came in
and against major faults. Then by memory: a workload's page touches replayed against the cache models, and as reads of a
real file through a mapping by a process whose memory a cgroup limits (root, and a memory cgroup, v1 or v2).
"""

from __future__ import annotations

import mmap
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random

from kidx.evidence import open_evidence
from kidx.evidence.page_cache import PAGE_BYTES, mincore
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, IndexFormat
from kidx.lookup.search import STANDARD, WARM, Recorder, search
from kidx.lookup.simulation import simulate
from kidx.lookup.workload import parse_workload
from kidx.pages.cache import POLICIES, page_cache
from kidx.pages.geometry import pages_touched
from kidx.pages.observation import Specimen, private_copy

WORKLOAD = """
partitions 4
start 20000
seconds 150
append 20
reader follower rate 20
reader near rate 5 lag 400 read-pages 4
reader far rate 5 lag 1500 read-pages 4
reader batch rate 3 lag 15000 read-pages 8
"""
LOOKUPS = 1000
LIMITS_BYTES = (24 << 20, 32 << 20, 48 << 20)
V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


class Tape:
    """Stands for a cache and only notes what it is asked for."""

    capacity = 1 << 40

    def __init__(self) -> None:
        self.pages: list[int] = []

    def __contains__(self, page: int) -> bool:
        return False

    def replay(self, pages: Iterable[int]) -> list[int]:
        self.pages.extend(pages)
        return []


def limited_group(limit_bytes: int) -> Path:
    """A new cgroup whose memory is limited. Raises OSError where this system or user cannot make one."""
    v1 = (V1 / "memory.limit_in_bytes").exists()
    group = (V1 if v1 else V2) / f"kidx-benchmark-{os.getpid()}"
    group.mkdir(exist_ok=True)
    (group / ("memory.limit_in_bytes" if v1 else "memory.max")).write_text(str(limit_bytes))
    return group


def really(pages: Sequence[int], limit_bytes: int) -> tuple[int, int]:
    """Major faults of a process that touches these pages of a real file, and how many it had in memory at the end."""
    place = {page: i for i, page in enumerate(sorted(set(pages)))}
    with tempfile.TemporaryFile() as file:
        block = os.urandom(PAGE_BYTES)
        for _ in place:
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        group = limited_group(limit_bytes)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            (group / "cgroup.procs").write_text(str(os.getpid()))
            os.write(writer, repr(_touch(file.fileno(), [place[page] for page in pages], len(place))).encode())
            os._exit(0)
        os.waitpid(child, 0)
        group.rmdir()
        faults, resident = map(int, os.read(reader, 100).decode().strip("()").split(","))
        os.close(reader)
        os.close(writer)
    return faults, resident


def _touch(fd: int, order: Sequence[int], pages: int) -> tuple[int, int]:
    with mmap.mmap(fd, pages * PAGE_BYTES, access=mmap.ACCESS_READ) as mapping:
        mapping.madvise(mmap.MADV_RANDOM)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        for page in order:
            mapping[page * PAGE_BYTES]
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before
    return faults, sum(flag & 1 for flag in mincore(fd, pages * PAGE_BYTES))


def main() -> None:
    by_eviction()
    print()
    by_memory()


def by_eviction() -> None:
    """1,000 random look-ups of each kind of index and search."""
    print("index       search    look-ups  predicted pages  pages that came in  major faults  look-ups where all agree")
    for index_format in (OFFSET_INDEX, TIME_INDEX):
        entries = (10 << 20) // index_format.size
        data = b"".join(index_format.struct.pack(i * 3, i) for i in range(entries))
        random = Random(1)
        targets = [random.randrange(entries * 3) for _ in range(LOOKUPS)]
        with tempfile.NamedTemporaryFile(suffix=index_format.suffix) as file:
            file.write(data)
            file.flush()
            with open_evidence(file.name) as evidence, private_copy(evidence) as specimen:
                for kind in (STANDARD, WARM):
                    seen = [_observe(specimen, index_format, entries, target, kind) for target in targets]
                    predicted, came, faults = (sum(column) for column in zip(*(s[:3] for s in seen), strict=True))
                    agreed = sum(s[3] for s in seen)
                    print(f"{index_format.suffix:<10}  {kind:<8}  {LOOKUPS:>8,}  {predicted:>15,}  {came:>18,}  "
                          f"{faults:>12,}  {agreed:>24,}")  # fmt: skip


def _observe(
    specimen: Specimen, index_format: IndexFormat, entries: int, target: int, kind: str
) -> tuple[int, int, int, bool]:
    size, unpack = index_format.size, index_format.struct.unpack
    slots: list[int] = []

    def look_up(read: Callable[[int, int], bytes]) -> None:
        recorder = Recorder(lambda slot: int(unpack(read(slot * size, size))[0]))
        search(recorder, entries, index_format.warm_entries, target, kind)
        slots.extend(slot for slot, _ in recorder.probes)

    seen = specimen.observe(look_up)
    predicted = sorted(pages_touched(slots, size, PAGE_BYTES))
    assert seen.pages is not None
    assert seen.faults is not None
    return len(predicted), len(seen.pages), seen.faults, predicted == seen.pages and seen.faults == len(predicted)


def by_memory() -> None:
    """The same touches, in memory of several sizes."""
    workload = parse_workload(WORKLOAD.splitlines(), "the benchmark's workload")
    print("search    memory  cache pages    touches  real faults  " + "  ".join(f"{name:>17}" for name in POLICIES))
    for kind, warm_bytes in ((STANDARD, None), (WARM, 8192)):
        tape = Tape()
        simulate(workload, tape, warm_bytes)
        for limit in LIMITS_BYTES:
            try:
                faults, resident = really(tape.pages, limit)
            except OSError as e:
                sys.exit(f"no memory cgroup can be made here ({e}); run it as root")
            models = [len(page_cache(name, resident).replay(tape.pages)) for name in POLICIES]
            said = "  ".join(f"{model:>8,} ({model / faults - 1:>+6.1%})" for model in models)
            print(f"{kind:<8}  {limit >> 20:>2} MiB  {resident:>11,}  {len(tape.pages):>9,}  {faults:>11,}  {said}")


if __name__ == "__main__":
    main()
