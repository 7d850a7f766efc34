"""A few seeds' scenarios from beginning to end: kidx compared with a real broker and real RocketMQ stores.

$KIDX_INTEROP_SEED says which seed comes first (a random one), $KIDX_INTEROP_COUNT how many (1). A seed is printed, and
the same seed asks the same again; the times and producer ids of a broker are its own.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.interop.lab import Unavailable
from tests.interop.seeds import prove

pytestmark = pytest.mark.interop
FIRST = int(os.environ.get("KIDX_INTEROP_SEED") or random.randrange(10**9))
COUNT = int(os.environ.get("KIDX_INTEROP_COUNT") or 1)

# What no seed goes without; a seed may have no aborted transactions, no deleted segments, and so on.
ALWAYS = (
    "dump", "dump.complaints", "lookup", "probe", "upper bound", "read", "find", "rebuild", "append.taken", "append",
    "truncate", "offset map", "records", "visible", "ListOffsets", "time", "fetch", "group", "verify", "untouched",
    "compaction", "recovery", "rocketmq ends", "rocketmq message", "rocketmq time", "rocketmq pull", "rocketmq key",
)  # fmt: skip


def test_no_answer_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seeds = list(range(FIRST, FIRST + COUNT))
    with capsys.disabled():
        print(f"\nKIDX_INTEROP_SEED={FIRST} KIDX_INTEROP_COUNT={COUNT}")
    try:
        ledgers = prove(seeds, tmp_path)
    except Unavailable as e:
        pytest.skip(str(e))
    for seed, ledger in ledgers.items():
        with capsys.disabled():
            print(f"seed {seed}: {sum(ledger.counts.values())} comparisons, {len(ledger.differences)} differences")
        assert not ledger.differences, "\n".join(map(str, ledger.differences[:20]))
        assert set(ALWAYS) <= set(ledger.counts), f"only {ledger} was compared"
