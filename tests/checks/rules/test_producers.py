"""Sequence numbers that do not go on: place, expected and found, and when it is a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from kidx.findings import NOTE, WARNING
from kidx.formats.batches import HEADER_BYTES
from tests.building import batch, record
from tests.checks.conftest import check, placed

DAY_MS = 86_400_000
FORGOTTEN = "(its broker may have forgotten the producer)"
# epoch, sequence and milliseconds after a batch of epoch 5 with the sequence numbers 10 and 11; expected, severity
CASES: dict[str, tuple[int, int, int, object, str, str]] = {
    "follows": (5, 12, 0, None, "", ""),
    "a gap": (5, 14, 0, 12, WARNING, "goes on with sequence number 14 after 11: 2 are missing"),
    "a gap before it could be forgotten": (5, 14, DAY_MS - 1, 12, WARNING, "goes on"),
    "a gap after it could be forgotten": (5, 14, DAY_MS, 12, NOTE, "goes on"),
    "a repeat": (5, 11, 0, 12, WARNING, "goes back to sequence number 11 after 11"),
    "from 0 on": (5, 0, 0, 12, NOTE, "begins with sequence number 0 again after 11, in the same epoch"),
    "a new epoch": (6, 0, 0, None, "", ""),
    "a new epoch from 3 on": (6, 3, 0, 0, NOTE, "begins epoch 6 with sequence number 3 instead of 0"),
    "an older epoch": (4, 12, 0, 12, WARNING, "writes in epoch 4, which a later one had ended"),
}


@pytest.mark.parametrize(("epoch", "sequence", "ms", "expected", "severity", "said"), CASES.values(), ids=CASES)
def test_the_next_batch_of_a_producer(
    tmp_path: Path, epoch: int, sequence: int, ms: int, expected: object, severity: str, said: str
) -> None:
    log = tmp_path / f"{0:020d}.log"
    time = 1_700_000_000_000
    first = batch([record(0), record(1)], producer=(7, 5, 10), base_timestamp=time)
    second = batch([record(0)], base_offset=2, producer=(7, epoch, sequence), base_timestamp=time + ms)
    log.write_bytes(first + second)
    found = check(log).findings
    if not severity:
        assert found == []
        return
    at = len(first)
    wrong = {"producer_epoch": epoch, "base_sequence": sequence}
    assert [placed(f) for f in found] == [("KX408", None, at, at + HEADER_BYTES, expected, wrong)]
    assert found[0].severity == severity
    assert said in found[0].message
    assert (FORGOTTEN in found[0].message) == (severity == NOTE)
