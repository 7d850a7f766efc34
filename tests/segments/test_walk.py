"""Walking as a look-up does: few bytes read, and how far it came is known."""

from __future__ import annotations

from kidx.evidence import Evidence, from_bytes
from kidx.segments.records import read_records
from kidx.segments.walk import END, walk
from tests.building import batch, record


class Counting(Evidence):
    """Bytes that count how many of them are read."""

    def __init__(self, data: bytes) -> None:
        super().__init__("(counted)", -1, len(data), 0, data)

    def read(self, position: int, length: int) -> bytes:
        data = super().read(position, length)
        COUNTED.append(len(data))
        return data


COUNTED: list[int] = []


def test_a_walk_that_is_left_knows_how_far_it_came() -> None:
    entries = [batch([record()], base_offset=n) for n in range(9)]
    size = len(entries[0])
    steps = walk(from_bytes(b"".join(entries)), 2 * size)
    for found in steps:
        if found.last_offset >= 5:
            break
    assert (found.position, found.base_offset, steps.bytes_walked, steps.position) == (5 * size, 5, 4 * size, 6 * size)
    assert steps.ending is None
    assert [b.base_offset for b in steps] == [6, 7, 8]
    assert steps.ending is not None and steps.ending.kind == END
    assert next(steps, None) is None


def test_of_large_batches_only_headers_are_read() -> None:
    COUNTED.clear()
    log = Counting(batch([record(value=bytes(500_000))]) * 20)
    assert len(list(walk(log))) == 20
    assert sum(COUNTED) < 40_000


def test_a_batch_beyond_the_limit_is_not_read() -> None:
    COUNTED.clear()
    log = Counting(batch([record(value=bytes(500_000))]))
    found = next(walk(log))
    COUNTED.clear()
    records, damage = read_records(log, found, limit_bytes=100_000)
    assert records == [] and damage is not None and damage.limit and "100000" in damage.why
    assert COUNTED == []
