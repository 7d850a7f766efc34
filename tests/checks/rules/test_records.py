"""Records that cannot be decoded, and control records that say nothing a broker knows."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest

from kidx.checks.engine.options import DEEP, DEFAULT
from kidx.findings import ERROR
from kidx.formats.control import COMMIT
from kidx.segments.record_blocks import RecordDecoder
from tests import damage
from tests.building import batch, record
from tests.checks.conftest import check, placed

FIRST = batch([record(0)])
LEVELS = pytest.mark.parametrize("level", [DEFAULT, DEEP])


def log_of(place: Path, second: bytes) -> Path:
    log = place / f"{0:020d}.log"
    log.write_bytes(FIRST + second)
    return log


def marker(key: bytes, value: bytes | None) -> bytes:
    return batch([record(0, key=key, value=value)], base_offset=1, attributes=0x30, producer=(7, 0, -1))


def place(second: bytes, found: object) -> tuple[object, ...]:
    return "KX308", None, len(FIRST), len(FIRST) + len(second), None, found


MARKERS: dict[str, tuple[bytes, bytes | None, object, str]] = {
    "no type": (b"\0\0\0", pack(">hi", 0, 1), None, "has no type in its key"),
    "an unknown type": (pack(">hh", 0, 99), pack(">hi", 0, 1), 99, "is of type 99, which does not exist"),
    "no value": (pack(">hh", 0, COMMIT), None, "COMMIT", "is COMMIT, and its value cannot be read"),
    "a short value": (pack(">hh", 0, COMMIT), b"\0\0\0", "COMMIT", "is COMMIT, and its value cannot be read"),
    "a negative version": (pack(">hh", 0, COMMIT), pack(">hi", -1, 1), "COMMIT", "cannot be read"),
}


@LEVELS
@pytest.mark.parametrize(("key", "value", "found", "said"), MARKERS.values(), ids=MARKERS)
def test_a_marker_that_says_nothing(
    tmp_path: Path, key: bytes, value: bytes | None, found: object, said: str, level: str
) -> None:
    second = marker(key, value)
    (one,) = check(log_of(tmp_path, second), level=level).findings
    assert (placed(one), one.severity) == (place(second, found), ERROR)
    assert said in one.message


@LEVELS
def test_a_marker_that_a_broker_writes(tmp_path: Path, level: str) -> None:
    second = marker(pack(">hh", 0, COMMIT), pack(">hi", 0, 1))
    assert check(log_of(tmp_path, second), level=level).findings == []


@LEVELS
def test_a_marker_that_cannot_be_decoded(tmp_path: Path, level: str) -> None:
    second = batch([], payload=b"\x05\1", base_offset=1, attributes=0x30, producer=(7, 0, -1), count=1,
                   last_offset_delta=0)  # fmt: skip
    (one,) = check(log_of(tmp_path, second), level=level).findings
    assert one.found is not None
    assert placed(one) == place(second, one.found)


def test_records_that_cannot_be_decoded(tmp_path: Path) -> None:
    second = batch([], payload=b"\x05\1", base_offset=1, count=1, last_offset_delta=0)
    log = log_of(tmp_path, second)
    assert check(log).findings == []
    (one,) = check(log, level=DEEP).findings
    assert one.found is not None
    assert (placed(one), one.severity) == (place(second, one.found), ERROR)
    damage.flip_byte(log, -1)  # what its CRC does not cover needs no other finding
    assert [f.rule for f in check(log, level=DEEP).findings] == ["KX301"]


def test_what_is_too_large_to_decode_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(tmp_path, batch([record(0, value=bytes(1000))], base_offset=1))
    monkeypatch.setitem(RecordDecoder.__init__.__kwdefaults__, "limit_bytes", 500)
    checked = check(log, level=DEEP)
    assert checked.findings == []
    assert [s for s in checked.unread if "was not decoded" in s]
