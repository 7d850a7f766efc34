"""Records as columns: every record of every log, the ranges that are wanted, and what cannot be read."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kidx.evidence import Evidence, from_bytes, open_evidence
from kidx.formats.batches import Batch
from kidx.formats.checksums import crc_holds
from kidx.formats.control import control_type, type_name
from kidx.formats.records import Record
from kidx.segments import column_reader, record_blocks
from kidx.segments.column_reader import CRC, EVERYTHING, ColumnReader, LogIndexes, Wanted, read_columns
from kidx.segments.record_columns import CONTROL_NAMES
from kidx.segments.records import read_records
from kidx.segments.walk import walk
from kidx.text.integer_text import Maybe, python_values
from tests.building import batch, message, record, varint, wrapper
from tests.damage import flip_byte
from tests.segments.model import mutate
from tests.segments.test_scan import LOGS

NUMBERS = ("offset", "timestamp", "batch_position", "magic", "leader_epoch", "producer_id", "producer_epoch",
           "sequence", "transactional", "timestamp_type", "size", "header_count")  # fmt: skip


def by_columns(reader: ColumnReader) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for block in reader:
        numbers = [python_values(block.column(name)) for name in NUMBERS]
        types = [None if t is None else CONTROL_NAMES[t] for t in python_values(block.column("control_type"))]
        pairs = list(zip(block.headers.key.tolist(), block.headers.value.tolist(), strict=True))
        ends = block.headers.counts.cumsum().tolist()
        headers = [tuple(pairs[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        rows += zip(*numbers, block.key.tolist(), block.value.tolist(), headers, types, strict=True)
    return rows


def one_by_one(log: Evidence, *, damaged: bool = False) -> list[tuple[Any, ...]]:
    """The same by the plain decoder, as far as the batches go without a break."""
    rows = []
    for found in walk(log):
        if damaged or crc_holds(found, log.read(found.position, found.size)):
            rows += [row(found, r) for r in read_records(log, found).records]
    return rows


def row(found: Batch, r: Record) -> tuple[Any, ...]:
    new, timed = found.magic == 2, found.magic > 0
    since_2 = (found.leader_epoch, found.producer_id, found.producer_epoch, r.sequence, int(found.transactional))
    control = type_name(control_type(r.key)) if found.control else None
    return (
        r.offset,
        r.timestamp if timed else None,
        found.position,
        found.magic,
        *(since_2 if new else (None,) * 5),
        int(found.log_append_time) if timed else None,
        r.size,
        len(r.headers),
        r.key,
        r.value,
        r.headers,
        control,
    )


@pytest.mark.parametrize("small", (False, True))
def test_every_record_of_every_log(small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if small:
        monkeypatch.setattr(record_blocks, "_MOST_RECORDS", 30)
        monkeypatch.setattr(record_blocks, "_JOINT_BYTES", 700)
        monkeypatch.setattr(record_blocks, "_SLICE_RECORDS", 7)
    for log in LOGS:
        with open_evidence(str(log)) as evidence:
            reader = read_columns(evidence, LogIndexes.next_to(str(log)))
            assert by_columns(reader) == one_by_one(evidence), log


@pytest.mark.parametrize("seed", range(3))
def test_of_damaged_logs_nothing_is_lost_in_silence(seed: int) -> None:
    chance = random.Random(seed)
    for log in chance.sample(LOGS, min(40, len(LOGS))):
        evidence = from_bytes(mutate(log.read_bytes(), chance))
        for damaged in (False, True):
            reader = read_columns(evidence, wanted=Wanted(damaged=damaged))
            rows = by_columns(reader)
            expected = one_by_one(evidence, damaged=damaged)
            assert rows[: len(expected)] == expected
            assert len(rows) == len(expected) or any(d.base_offset is None for d in reader.damage)
        covered = [(d.start, d.end) for d in reader.damage]
        for found in walk(evidence):
            sound = crc_holds(found, evidence.read(found.position, found.size))
            if not sound or read_records(evidence, found).damage is not None:
                assert (found.position, found.next_position) in covered


def test_ranges_are_the_same_with_and_without_indexes() -> None:
    chance = random.Random(1)
    for log in LOGS:
        with open_evidence(str(log)) as evidence:
            every = [r for r in by_columns(read_columns(evidence)) if r[1] is not None]
            if not every:
                continue
            for number in (0, 1):
                low, high = sorted(chance.choice(every)[number] for _ in range(2))
                wanted = Wanted(**{("offsets", "timestamps")[number]: (low, high)})
                expected = [r for r in every if low <= r[number] <= high]
                for indexes in (None, LogIndexes.next_to(str(log))):
                    assert by_columns(read_columns(evidence, indexes, wanted)) == expected, (log, wanted)


def many_batches(path: Path) -> Path:
    """A log of 2,000 batches of 5 records, with an index entry each ten batches."""
    data, entries = b"", b""
    for n in range(2000):
        if n % 10 == 0:
            entries += (5 * n + 4).to_bytes(4, "big") + len(data).to_bytes(4, "big")
        rows = [record(i, i, value=b"v" * 60) for i in range(5)]
        data += batch(rows, base_offset=5 * n, base_timestamp=1000 * n, max_timestamp=1000 * n + 4)
    log = path / f"{0:020}.log"
    log.write_bytes(data)
    log.with_suffix(".index").write_bytes(entries)
    return log


def test_outside_a_range_nothing_is_read(tmp_path: Path) -> None:
    log = many_batches(tmp_path)
    with open_evidence(str(log)) as evidence:
        reader = read_columns(evidence, LogIndexes.next_to(str(log)), Wanted(offsets=(5003, 5010)))
        assert [r[0] for r in by_columns(reader)] == list(range(5003, 5011))
        assert reader.batches <= 20


def test_an_index_that_lies_is_not_followed(tmp_path: Path) -> None:
    log = many_batches(tmp_path)
    index = log.with_suffix(".index")
    entries = np.fromfile(index, ">i4").reshape(-1, 2)
    entries[:, 0] += 700  # in order, and each names an offset that is not in its batch
    index.write_bytes(entries.tobytes())
    with open_evidence(str(log)) as evidence:
        reader = read_columns(evidence, LogIndexes.next_to(str(log)), Wanted(offsets=(5003, 5010)))
        assert [r[0] for r in by_columns(reader)] == list(range(5003, 5011))


def test_a_batch_with_a_wrong_crc_is_reported_and_given_only_if_asked_for(tmp_path: Path) -> None:
    log = many_batches(tmp_path)
    with open_evidence(str(log)) as evidence:
        seventh = [b for b, _ in zip(walk(evidence), range(8), strict=False)][7]
    flip_byte(log, seventh.next_position - 3)
    with open_evidence(str(log)) as evidence:
        for damaged, offsets in ((False, set()), (True, set(range(35, 40)))):
            reader = read_columns(evidence, wanted=Wanted(damaged=damaged))
            assert {r[0] for r in by_columns(reader)} & set(range(35, 40)) == offsets
            (found,) = reader.damage
            assert (found.start, found.end, found.kind) == (seventh.position, seventh.next_position, CRC)
            assert (found.base_offset, found.last_offset) == (35, 39)


def test_a_broken_structure_is_reported_to_the_next_whole_batch(tmp_path: Path) -> None:
    log = many_batches(tmp_path)
    with open_evidence(str(log)) as evidence:
        first = [b for b, _ in zip(walk(evidence), range(12), strict=False)]
    flip_byte(log, first[10].position + 16)  # the magic byte
    with open_evidence(str(log)) as evidence:
        reader = read_columns(evidence, LogIndexes.next_to(str(log)))
        assert len(by_columns(reader)) == 2000 * 5 - 5
        (found,) = reader.damage
        assert (found.start, found.end, found.base_offset) == (first[10].position, first[11].position, None)


def test_records_before_damage_inside_a_batch_are_given() -> None:
    cut = batch(payload=record(0) + varint(50) + record(1)[1:], base_offset=4, count=2, last_offset_delta=1)
    reader = read_columns(from_bytes(batch([record()]) + cut + batch([record()], base_offset=9)))
    assert [r[0] for r in by_columns(reader)] == [0, 4, 9]
    assert [d.kind for d in reader.damage] == ["record"]


def test_control_producers_and_old_messages() -> None:
    marker = record(0, key=b"\0\0\0\1", value=bytes(6))
    log = from_bytes(
        message(b"old", offset=3, magic=0)
        + wrapper([message(b"in", offset=0), message(b"in", offset=1)], codec=1, offset=5)
        + batch([record(0), record(1)], base_offset=6, producer=(7, 0, 2**31 - 1))
        + batch([marker], base_offset=8, producer=(7, 0, -1), attributes=0x30)
    )
    rows = by_columns(read_columns(log))
    assert rows == one_by_one(log)
    assert [r[0] for r in rows] == [3, 4, 5, 6, 7, 8]
    assert [r[7] for r in rows] == [None, None, None, 2**31 - 1, 0, -1]
    assert [r[-1] for r in rows] == [None] * 5 + ["COMMIT"]
    assert [r[0] for r in by_columns(read_columns(log, wanted=Wanted(producer_id=7)))] == [6, 7, 8]
    assert [r[0] for r in by_columns(read_columns(log, wanted=Wanted(control=False)))] == [3, 4, 5, 6, 7]
    assert [r[0] for r in by_columns(read_columns(log, wanted=Wanted(offsets=(4, 4))))] == [4]
    block = next(iter(read_columns(log, wanted=EVERYTHING)))
    assert isinstance(block.column("producer_id"), Maybe)


def test_pieces_from_the_end_cover_a_log_once(tmp_path: Path) -> None:
    log = many_batches(tmp_path)
    indexes = LogIndexes.next_to(str(log))
    assert indexes is not None
    with open_evidence(str(log)) as evidence:
        pieces = list(indexes.last_pieces(evidence, 5000))
        assert pieces[0][1] == evidence.size
        assert pieces[-1][0] == 0
        assert all(later[0] == earlier[1] for later, earlier in pairwise(pieces))
        assert 3 < len(pieces) < 12
        rows = [
            row for start, end in reversed(pieces) for row in by_columns(read_columns(evidence, start=start, end=end))
        ]
        assert rows == one_by_one(evidence)
    assert column_reader.confirmed(evidence, -1, 0) is None
