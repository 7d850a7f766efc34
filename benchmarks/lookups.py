"""`python -m benchmarks.lookups`: a million look-ups in one process, pages included, against a search in C.

The C program only finds slots; kidx also says which pages each look-up touches. Its table of page paths is built before
the clock starts, as for any number of look-ups in the same index.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from kidx.formats.indexes import OFFSET_INDEX
from kidx.lookup.many_lookups import ManyLookups

ENTRIES, LOOKUPS, ROUNDS = 1_310_720, 1_000_000, 7


def main() -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        sys.exit("no C compiler: there is no yardstick")
    random = np.random.default_rng(1)
    keys = np.cumsum(random.integers(1, 60, ENTRIES)).astype(np.int64)
    targets = random.integers(0, int(keys[-1]) + 1000, LOOKUPS)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        entries = np.stack([keys, np.arange(ENTRIES) * 4096 % 2**31], axis=1)
        (home / "index").write_bytes(entries.astype(">i4").tobytes())
        (home / "targets").write_bytes(targets.astype(np.int32).tobytes())
        source = Path(__file__).parent / "search_yardstick.c"
        subprocess.run([compiler, "-O2", "-o", home / "search", source], check=True)
        many = ManyLookups(keys, OFFSET_INDEX.size, OFFSET_INDEX.warm_entries)
        paths = many.paths()
        ratios = []
        for _ in range(ROUNDS):
            ran = subprocess.run([home / "search", home / "index", home / "targets"], capture_output=True, check=True)
            nanoseconds, slots = map(int, ran.stdout.split())
            started = time.perf_counter()
            found = many.look_up(targets)
            pages = paths.touches(found.paths)
            took = time.perf_counter() - started
            assert int(found.slots.astype(np.int64).sum()) == slots, "the two searches disagree"
            assert pages.sum() > LOOKUPS
            ratios.append((took * 1e9 / nanoseconds, took, nanoseconds / 1e9))
    ratio, took, yardstick = (median(column) for column in zip(*ratios, strict=True))
    print(f"{LOOKUPS:,} look-ups with their pages: {ratio:.2f}x C's search ({took:.3f} s, C {yardstick:.3f} s)")


if __name__ == "__main__":
    main()
