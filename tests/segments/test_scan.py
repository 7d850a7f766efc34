"""Scanning: the same entries and ending as the slow, obvious way, whatever the log and whatever the index says."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastcrc import crc32
from hypothesis import given
from hypothesis import strategies as st

from kidx.errors import ChangedWhileRead
from kidx.evidence import from_bytes, open_evidence
from kidx.formats.batches import CRC_START, HEADER_BYTES
from kidx.segments import array_reader as block
from kidx.segments import parallel_walk as lanes
from kidx.segments import scan as scanning
from kidx.segments import walk as walking
from kidx.segments.resume import parts, resume
from kidx.segments.scan import scan
from kidx.segments.walk import END, NO_BATCH, PREALLOCATED, TORN, walk
from tests.building import batch, message, record
from tests.segments.model import fast_scan, mutate, slow_scan
from tests.support import FIXTURES

LOGS = [p for p in sorted(FIXTURES.glob("kafka-*/*/**/*.log")) if p.stat().st_size]


def positions_of(log: Path) -> Any:
    index = log.with_suffix(".index")
    return np.fromfile(index, ">i4")[1::2].astype(np.int64) if index.exists() else np.empty(0, np.int64)


def small_batches(count: int, payload_bytes: int = 60) -> bytes:
    return b"".join(batch([record(value=bytes([n % 251]) * payload_bytes)], base_offset=n) for n in range(count))


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows and buffers so small that fixtures take many, and lanes are used from the second one on."""
    monkeypatch.setattr(lanes, "_FEW_LANES", 2)
    monkeypatch.setattr(block, "_WINDOW_BYTES", 20_000)
    monkeypatch.setattr(scanning, "_PLAIN_BUFFER_BYTES", 1_000)
    monkeypatch.setattr(scanning, "_FIRST_LOOK_BATCHES", 2)
    monkeypatch.setattr(walking, "_CHUNK_BYTES", 200)


@pytest.mark.parametrize("hold", (False, True))
def test_every_log_is_scanned_alike_with_an_index_and_without(hold: bool) -> None:
    for log in LOGS:
        data = log.read_bytes()
        wanted, end = slow_scan(data)
        for positions in (None, positions_of(log)):
            found, windows = fast_scan(data, positions, hold=hold)
            assert found == wanted
            assert windows.ending == (END, end, "", None)


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("seed", range(8))
def test_damaged_logs_are_scanned_alike(seed: int) -> None:
    chance = random.Random(seed)
    for log in chance.sample(LOGS, min(60, len(LOGS))):
        data, positions = mutate(log.read_bytes(), chance), positions_of(log)
        wrong = np.array([chance.randrange(-9, len(data) + 99) for _ in range(30)])
        for given_positions in (None, positions, positions + 1, positions[::-1], wrong):
            found, windows = fast_scan(data, given_positions, hold=chance.random() < 0.5)
            assert (found, windows.ending.position) == slow_scan(data)
            steps = walk(from_bytes(data))
            assert [b.position for b in steps] == [entry.position for entry in found]
            assert steps.ending == windows.ending


@given(st.lists(st.tuples(st.sampled_from((0, 1, 2, 2, 2)), st.integers(0, 3000), st.booleans()), max_size=40))
def test_any_mixture_of_formats_and_sizes(entries: list[tuple[int, int, bool]]) -> None:
    data = bytearray()
    for magic, size, spoilt in entries:
        entry = batch([record(value=bytes(size))]) if magic == 2 else message(bytes(size), magic=magic)
        data += entry[:-1] + b"\x77" if spoilt else entry
    assert fast_scan(bytes(data))[0] == slow_scan(bytes(data))[0]


def test_a_chain_of_crcs_finds_each_wrong_one() -> None:
    whole = small_batches(3000)
    size = len(whole) // 3000
    for wrong in ([0], [2999], [17, 18], list(range(0, 3000, 7)), list(range(3000))):
        data = bytearray(whole)
        for row in wrong:
            data[row * size + 80] ^= 1
        found, _ = fast_scan(bytes(data))
        assert [row for row, entry in enumerate(found) if not entry.crc_ok] == wrong


def test_columns_say_what_rows_say() -> None:
    names = ("base_offset", "leader_epoch", "crc", "max_timestamp", "producer_id", "base_sequence", "record_count")
    for log in LOGS[::5]:
        with open_evidence(str(log)) as evidence:
            for window in scan(evidence, positions_of(log)):
                rows = list(window.batches())
                assert [window.batch(i) for i in range(len(window))] == rows
                for name in names:
                    assert window.column(name).tolist() == [getattr(b, name) for b in rows]
                for name in ("position", "size", "last_offset", "codec", "log_append_time", "transactional", "control"):
                    assert getattr(window, name).tolist() == [getattr(b, name) for b in rows]
                assert window.crc_ok is not None and window.crc_ok.all()


def test_how_a_log_ends() -> None:
    whole = small_batches(5)
    size = len(whole) // 5

    def ending(data: bytes) -> tuple[str, int, int | None]:
        _, windows = fast_scan(data)
        return windows.ending.kind, windows.ending.position, windows.ending.missing_bytes

    assert ending(b"") == (END, 0, None)
    assert ending(whole) == (END, 5 * size, None)
    assert ending(whole[:-1]) == (TORN, 4 * size, 1)
    assert ending(whole[: 4 * size + 16]) == (TORN, 4 * size, size - 16)
    assert ending(whole[: 4 * size + 5]) == (TORN, 4 * size, None)
    assert ending(whole + bytes(3)) == (TORN, 5 * size, None)  # or the first bytes of offset 5
    assert ending(whole + bytes(12)) == (PREALLOCATED, 5 * size, None)
    assert ending(whole + bytes(3_000_000)) == (PREALLOCATED, 5 * size, None)
    assert ending(whole + bytes(3_000_000) + b"\1") == (NO_BATCH, 5 * size, None)
    assert ending(whole + b"\xff" * 400) == (NO_BATCH, 5 * size, None)
    assert ending(whole[:16] + b"\5" + whole[17:])[:2] == (NO_BATCH, 0)
    shorter = whole[: size + 8] + (48).to_bytes(4, "big") + whole[size + 12 :]
    assert ending(shorter)[:2] == (NO_BATCH, size)
    longer = whole[: size + 8] + (2**31 - 1).to_bytes(4, "big") + whole[size + 12 :]
    assert ending(longer) == (TORN, size, 2**31 - 1 + 12 - 4 * size)


def test_batches_go_on_behind_damage() -> None:
    whole = small_batches(50)
    size = len(whole) // 50
    broken = whole[: 10 * size + 8] + b"\xff\xff" + whole[10 * size + 10 :]
    _, windows = fast_scan(broken)
    assert windows.ending.position == 10 * size
    with_evidence = from_bytes(broken)
    assert resume(with_evidence, 10 * size) == 11 * size
    assert resume(from_bytes(whole[:-1]), 49 * size) is None
    far = broken[: 11 * size - 30] + bytes(2_500_000) + whole
    assert resume(from_bytes(far), 10 * size) == 11 * size - 30 + 2_500_000


@pytest.mark.parametrize("filler", (b"\2", b"\0\0\0\2", bytes(range(256))))
def test_going_on_is_quick_where_everything_looks_like_a_header(filler: bytes) -> None:
    noise = filler * (4_000_000 // len(filler))
    assert resume(from_bytes(noise), 0) is None
    assert resume(from_bytes(noise + small_batches(3)), 0) == len(noise)


def test_a_scan_can_start_and_end_anywhere_between_batches() -> None:
    log = max(LOGS, key=lambda p: p.stat().st_size)
    data = log.read_bytes()
    wanted, _ = slow_scan(data)
    first, last = wanted[len(wanted) // 3], wanted[len(wanted) * 2 // 3]
    found, windows = fast_scan(data, positions_of(log), start=first.position, end=last.position)
    assert found == [e for e in wanted if first.position <= e.position < last.position]
    assert windows.ending == (END, last.position, "", None)
    _, windows = fast_scan(data, None, start=first.position, end=last.position + 20)
    assert windows.ending.kind == TORN


@pytest.mark.parametrize("count", (1, 2, 3, 16))
def test_parts_together_are_the_whole(count: int) -> None:
    for log in LOGS[::4]:
        data = log.read_bytes()
        ranges = parts(from_bytes(data), positions_of(log), count)
        assert 1 <= len(ranges) <= count
        assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
        found = []
        for start, end in ranges:
            entries, windows = fast_scan(data, positions_of(log), start=start, end=end)
            assert windows.ending == (END, end, "", None)
            found += entries
        assert found == slow_scan(data)[0]


def test_batches_larger_than_any_buffer() -> None:
    large = [batch([record(value=bytes(n % 251 for n in range(size)))]) for size in (3_000_000, 700_000, 5_000_000)]
    data = b"".join(large) + small_batches(200)
    spoilt = bytearray(data)
    spoilt[2_900_000] ^= 1
    for log in (data, bytes(spoilt)):
        for hold in (False, True):
            assert fast_scan(log, hold=hold)[0] == slow_scan(log)[0]


def test_headers_alone_are_read_where_crcs_are_not_wanted() -> None:
    log = max(LOGS, key=lambda p: p.stat().st_size)
    data = log.read_bytes()
    windows = scan(from_bytes(data), check_crc=False)
    assert [w.bad_crc for w in windows if w.bad_crc is not None] == []
    assert windows.ending == (END, len(data), "", None)


def test_positions_are_asked_for_only_where_they_help() -> None:
    def never() -> list[int]:
        raise AssertionError("asked")

    found, _ = fast_scan(b"".join(batch([record(value=bytes(20_000))]) for _ in range(40)), never)
    assert len(found) == 40


def test_a_log_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(small_batches(60_000))
    with open_evidence(str(log)) as evidence:
        windows = scan(evidence)
        next(windows)
        log.write_bytes(small_batches(100))
        with pytest.raises(ChangedWhileRead):
            list(windows)


def test_an_index_is_not_believed_against_the_log() -> None:
    """What a scan must believe: a length that swallows the next batch, with a CRC that holds for it."""
    first, second = batch([record()]), batch([record(value=bytes(100))], base_offset=1)
    data = bytearray(first + second)
    data[8:12] = (len(first) + len(second) - 12).to_bytes(4, "big")
    data[17:21] = crc32.iscsi(bytes(data[CRC_START:])).to_bytes(4, "big")
    found, windows = fast_scan(bytes(data), [len(first)])
    assert [e.size for e in found] == [len(first) + len(second)]
    assert windows.ending.kind == END
    assert len(first) > HEADER_BYTES


def test_a_log_of_large_batches_needs_no_numpy(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(batch([record(value=bytes(50_000))]) for _ in range(20)))
    program = (
        "import sys\nfrom kidx.evidence import open_evidence\nfrom kidx.segments.scan import scan\n"
        f"print(sum(len(w) for w in scan(open_evidence({str(log)!r}))), 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "20 False\n"
