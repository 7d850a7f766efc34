"""Batches outside the offsets of their segment."""

from __future__ import annotations

from pathlib import Path

import pytest

from kidx.findings import ERROR
from tests import damage
from tests.building import batch, record
from tests.checks.conftest import check, placed

BASE = 1000
MOST = 2**31 - 1
FIRST = batch([record(0)], base_offset=BASE)


def found_in(place: Path, *made: bytes, next_base: int | None = None) -> list[tuple[object, ...]]:
    log = place / f"{BASE:020d}.log"
    log.write_bytes(b"".join(made))
    if next_base is not None:
        (place / f"{next_base:020d}.log").write_bytes(batch([record(0)], base_offset=next_base))
    found = [f for f in check(place).findings if f.file == str(log) and f.rule in ("KX309", "KX310")]
    assert all(f.severity == ERROR for f in found)
    return [placed(f) for f in found]


def at(code: str, before: bytes, one: bytes, expected: object, found: object) -> tuple[object, ...]:
    return code, None, len(before), len(before) + len(one), expected, found


@pytest.mark.parametrize("damaged", [False, True])  # the batch before: conditions on healthy windows are cheaper
@pytest.mark.parametrize("over", [0, 1])
def test_an_offset_further_from_the_base_than_an_int_can_say(tmp_path: Path, over: int, damaged: bool) -> None:
    first = bytearray(FIRST)
    first[-1] ^= damaged
    far = batch([record(0)], base_offset=BASE + 1, last_offset_delta=MOST - 1 + over)
    wanted = [at("KX309", FIRST, far, BASE + MOST, BASE + MOST + 1)] if over else []
    assert found_in(tmp_path, bytes(first), far) == wanted
    assert found_in(tmp_path, bytes(first), far, next_base=BASE + 2)[-len(wanted) :] == (
        wanted or [at("KX310", FIRST, far, None, [BASE + 1, BASE + MOST])]
    )


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("over", [0, 1])
def test_an_offset_of_the_next_segment(tmp_path: Path, over: int, damaged: bool) -> None:
    first = bytearray(FIRST)
    first[-1] ^= damaged
    second = batch([record(0)], base_offset=BASE + 1, last_offset_delta=8 + over)
    wanted = [at("KX310", FIRST, second, None, [BASE + 1, BASE + 10])] if over else []
    assert found_in(tmp_path, bytes(first), second, next_base=BASE + 10) == wanted


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("next_base", [None, BASE + 10])
def test_an_offset_before_the_base(tmp_path: Path, next_base: int | None, damaged: bool) -> None:
    early = batch([record(0), record(1)], base_offset=BASE - 1)
    second = bytearray(batch([record(0)], base_offset=BASE + 1))
    second[-1] ^= damaged
    assert found_in(tmp_path, early, bytes(second), next_base=next_base) == [
        at("KX310", b"", early, None, [BASE - 1, BASE])
    ]
    assert found_in(tmp_path, FIRST, bytes(second), next_base=next_base) == []


def test_a_damaged_batch_proves_nothing(tmp_path: Path) -> None:
    far = bytearray(batch([record(0)], base_offset=BASE + 1, last_offset_delta=MOST))
    far[-1] ^= 1
    early = bytearray(batch([record(0)], base_offset=BASE - 1))
    early[-1] ^= 1
    assert found_in(tmp_path, FIRST, bytes(far)) == []
    assert found_in(tmp_path, bytes(early), FIRST) == []
    log = tmp_path / f"{BASE:020d}.log"
    damage.fix_crc(log, 0)
    assert [f.rule for f in check(log).findings][:1] == ["KX310"]


def test_the_sentence_says_where_the_segment_ends(tmp_path: Path) -> None:
    log = tmp_path / f"{BASE:020d}.log"
    log.write_bytes(batch([record(0)], base_offset=BASE - 1))
    assert check(log).findings[0].message.endswith("it holds offsets 999 to 999; the segment's are 1000")
    (tmp_path / f"{BASE + 10:020d}.log").write_bytes(b"")
    assert check(log).findings[0].message.endswith("the segment's are 1000 to 1009")
