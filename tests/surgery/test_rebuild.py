"""Rebuilt indexes are those that LogSegment.recover writes; logs that break off are indexed up to there and said so."""

from __future__ import annotations

import os
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kidx.surgery.rebuild as rebuild_module
from kidx.errors import CannotRead, Refused, UsageError
from kidx.evidence import from_bytes, open_evidence
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX
from kidx.formats.producer_snapshot import snapshot_bytes
from kidx.logdir.names import OFFSET, TIME, TRANSACTION
from kidx.segments import array_reader as block
from kidx.segments.walk import walk
from kidx.surgery import batch_facts
from kidx.surgery.batch_facts import BatchFacts, chain_from, next_entries
from kidx.surgery.rebuild import changes_apart, changes_in_place, rebuild, targets_of
from kidx.surgery.recovered_transactions import RecoveredTransactions
from kidx.surgery.recovery import recover
from tests.building import batch, message, record
from tests.damage import append_garbage, fix_crc, flip_byte, set_header, shrink
from tests.support import KAFKA_SETS, answer_files
from tests.surgery.support import bytes_of

KINDS = {".index": OFFSET, ".timeindex": TIME, ".txnindex": TRANSACTION}
RECOVERED = [
    (fixture_set, Path(path).parent)
    for fixture_set in KAFKA_SETS
    for path in answer_files(fixture_set)
    if path.endswith("/truncated.tsv")
]
CLEAN = KAFKA_SETS[0] / "clean"
PLAIN = CLEAN / "plain-0" / "00000000000000000000.log"


@pytest.mark.parametrize(("fixture_set", "below"), RECOVERED, ids=lambda value: str(value)[-60:])
def test_as_kafkas_recovery(fixture_set: Path, below: Path) -> None:
    _, stage, interval, *partition = below.parts
    expected = answer_files(fixture_set)
    compared = 0
    for target in targets_of(str(fixture_set / stage / Path(*partition))):
        rebuilt = rebuild(target, int(interval))
        for suffix, kind in KINDS.items():
            path = f"{below}/{target.segment.base_offset:020d}{suffix}"
            if path in expected:
                assert rebuilt.new.get(kind, b"") == expected[path], path
                compared += 1
        assert rebuilt.recovered.broken is None
    assert compared


@given(
    st.lists(st.tuples(st.integers(61, 3000), st.integers(-1, 5)), max_size=60),
    st.integers(0, 5000),
    st.lists(st.integers(0, 60), max_size=3),
)
def test_entries_are_those_of_one_batch_after_another(
    batches: list[tuple[int, int]], interval: int, cuts: list[int]
) -> None:
    """Against recovery as Kafka's code reads, however the batches are cut into facts."""
    position, last_indexed, largest = 0, 0, (-1, 0)
    offsets, times, checked = [], [], 0
    for row, (size, timestamp) in enumerate(batches):
        if timestamp > largest[0]:
            largest = (timestamp, row)
        if position - last_indexed > interval:
            offsets.append((row, position))
            checked = len(times)
            times += [largest] if largest[0] > (times[-1][0] if times else -1) else []
            last_indexed = position
        position += size
    times += [largest] if largest[0] > (times[-1][0] if times else -1) else []
    edges = sorted({0, len(batches), *(c for c in cuts if c < len(batches))})
    facts = [facts_of(batches, a, b, interval) for a, b in pairwise(edges)]
    recovered = recover(facts, interval, RecoveredTransactions(dict))
    assert list(OFFSET_INDEX.struct.iter_unpack(recovered.offset_index)) == offsets
    assert list(TIME_INDEX.struct.iter_unpack(recovered.time_index)) == times
    assert recovered.times_checked == checked


def facts_of(batches: list[tuple[int, int]], start: int, end: int, interval: int) -> BatchFacts:
    positions = np.cumsum([0, *(size for size, _ in batches)], dtype=np.uint32)
    largest = np.maximum.accumulate(np.array([t for _, t in batches[start:end]], np.int64))
    offsets, here = np.arange(start, end, dtype=np.int32), positions[start:end]
    following = next_entries(here, interval)
    chain = chain_from(0, following.data)
    return BatchFacts(here, offsets, largest, following, chain, [], int(positions[end]))


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A log with its indexes, in a partition of its own."""
    partition = tmp_path / "plain-0"
    partition.mkdir()
    for file in PLAIN.parent.glob(PLAIN.stem + ".*"):
        shutil.copyfile(file, partition / file.name)
    return partition / PLAIN.name


def rebuilt_of(path: Path, interval: int = 512):
    (result,) = [rebuild(target, interval) for target in targets_of(str(path))]
    return result


def batches_of(path: Path) -> list:
    with open_evidence(str(path)) as log:
        return list(walk(log))


def test_a_wrong_crc_ends_it(segment: Path) -> None:
    whole = rebuilt_of(segment)
    batches = batches_of(segment)
    middle = batches[len(batches) // 2]
    flip_byte(segment, middle.next_position - 1)
    cut = rebuilt_of(segment)
    assert (cut.recovered.valid_bytes, cut.recovered.batches) == (middle.position, len(batches) // 2)
    assert f"breaks off at byte {middle.position}: the CRC of the batch does not hold" in cut.notes
    assert f"the {segment.stat().st_size - middle.position:,} bytes after it left alone" in cut.notes
    indexed = len(cut.new[OFFSET])
    assert 0 < indexed < len(whole.new[OFFSET]) and whole.new[OFFSET].startswith(cut.new[OFFSET])
    os.truncate(segment, middle.position)
    assert rebuilt_of(segment).new == cut.new


BREAKS = {"log breaks off early": 0.02, "log breaks off in the middle": 0.5, "log breaks off late": 0.98}


@pytest.mark.parametrize("damage", ["none", "index lies", *BREAKS])
def test_several_processes_give_the_same(segment: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = batches_of(segment)
    index = segment.with_suffix(".index")
    if damage == "index lies":
        positions = [b.position + 1 for b in batches]
        index.write_bytes(b"".join(n.to_bytes(4, "big") + p.to_bytes(4, "big") for n, p in enumerate(positions, 1)))
    elif damage != "none":
        flip_byte(segment, batches[int(BREAKS[damage] * len(batches))].next_position - 1)
    (target,) = targets_of(str(segment))
    alone = rebuild(target, 512)
    monkeypatch.setattr(batch_facts, "WORTH_FORKING_BYTES", 0)
    assert rebuild(target, 512, jobs=3)[2:] == alone[2:]
    monkeypatch.setattr(block, "_WINDOW_BYTES", 700)  # many windows a range, some without an entry
    assert rebuild(target, 512, jobs=3)[2:] == rebuild(target, 512)[2:] == alone[2:]


def test_a_torn_log(segment: Path) -> None:
    last = batches_of(segment)[-1]
    shrink(segment, 5)
    cut = rebuilt_of(segment)
    assert cut.recovered.valid_bytes == last.position
    assert f"breaks off at byte {last.position}" in cut.notes


def test_an_offset_that_does_not_fit_the_base_offset(segment: Path) -> None:
    batch = batches_of(segment)[3]
    set_header(segment, batch.position, last_offset_delta=2**31 - 1)
    fix_crc(segment, batch.position)
    assert rebuilt_of(segment).recovered.valid_bytes == batch.position


@pytest.mark.parametrize("over", [0, 1])
def test_the_last_offset_that_fits_the_base_offset(tmp_path: Path, over: int) -> None:
    log = tmp_path / f"{100:020d}.log"
    first = batch([record(0)], base_offset=100, last_offset_delta=2**31 - 2)
    second = batch([record(0)], base_offset=100 + 2**31 - 1 + over)
    log.write_bytes(first + second)
    found = rebuilt_of(log, 0)
    assert found.recovered.valid_bytes == len(first) + (0 if over else len(second))
    if over:
        assert f"the batch's last offset, {100 + 2**31}, does not fit the base offset 100" in found.notes
    log.write_bytes(batch([record(0)], base_offset=99) + second)
    assert rebuilt_of(log).recovered.valid_bytes == 0


def test_an_offset_that_goes_back(segment: Path) -> None:
    whole = rebuilt_of(segment)
    batch = next(b for b in batches_of(segment) if b.position == int.from_bytes(whole.new[OFFSET][20:24], "big"))
    set_header(segment, batch.position, base_offset=0)
    cut = rebuilt_of(segment)
    assert cut.recovered.valid_bytes == batch.position and "offsets are before those" in cut.notes
    assert cut.new[OFFSET] == whole.new[OFFSET][:16]


def test_an_empty_log_gives_empty_indexes(segment: Path) -> None:
    os.truncate(segment, 0)
    assert rebuilt_of(segment).new == {OFFSET: b"", TIME: b""}


def test_more_entries_than_the_index_may_have(segment: Path) -> None:
    (target,) = targets_of(str(segment))
    with pytest.raises(Refused, match="offset index would have"):
        rebuild(target, 0, max_index_size=24)


def test_a_time_index_whose_last_slot_recovery_may_not_use(segment: Path) -> None:
    """A broker with indexes so small does not start after a crash: "Attempt to append to a full time index"."""
    (target,) = targets_of(str(segment))
    recovered = rebuild(target, 512).recovered
    assert recovered.times_checked == len(recovered.time_index) // 12 - 2  # one when it checks, one at the end
    size = 12 * (recovered.times_checked + 2)
    assert rebuild(target, 512, max_index_size=size).recovered == recovered
    with pytest.raises(Refused, match=r"time index would have .* last kept for the roll; a broker's recovery fails"):
        rebuild(target, 512, max_index_size=size - 1)


def test_a_time_index_that_ends_with_the_last_offset_entry(tmp_path: Path) -> None:
    """Nothing is added at the end here, and the slot kept for the roll is missed all the same."""
    partition = tmp_path / "times-0"
    partition.mkdir()
    log = partition / PLAIN.name
    shutil.copyfile(PLAIN, log)
    indexed = [position for _, position in OFFSET_INDEX.struct.iter_unpack(rebuilt_of(log).new[OFFSET])]
    for one in batches_of(log):
        if one.position > indexed[-2]:
            set_header(log, one.position, max_timestamp=1)
            fix_crc(log, one.position)
    (target,) = targets_of(str(log))
    recovered = rebuild(target, 512).recovered
    entries = len(recovered.time_index) // 12
    assert entries == recovered.times_checked
    assert rebuild(target, 512, max_index_size=12 * (entries + 2)).recovered == recovered
    with pytest.raises(Refused, match=f"time index would have {entries:,} entries"):
        rebuild(target, 512, max_index_size=12 * (entries + 2) - 1)


def test_a_time_index_of_one_slot_serves_a_segment_without_an_offset_entry(segment: Path) -> None:
    os.truncate(segment, batches_of(segment)[0].next_position)
    (target,) = targets_of(str(segment))
    assert len(rebuild(target, 4096, max_index_size=12).new[TIME]) == 12
    with pytest.raises(Refused, match="time index would have 1 entries, and 11 bytes hold 0"):
        rebuild(target, 4096, max_index_size=11)


def test_the_smallest_entries_that_a_log_can_have_fill_the_rows_of_each_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / PLAIN.name
    log.write_bytes(b"".join(message(None, offset=n, magic=0) for n in range(3000)))
    positions = np.arange(3000) * 26
    log.with_suffix(".index").write_bytes(OFFSET_INDEX.struct.pack(1500, 1500 * 26))
    with open_evidence(str(log)) as evidence:
        alone = recover(batch_facts.read_facts(evidence, 0, 100), 100, RecoveredTransactions(dict))
        monkeypatch.setattr(batch_facts, "WORTH_FORKING_BYTES", 0)
        facts = batch_facts.read_facts(evidence, 0, 100, positions[100::100], jobs=2)
        assert recover(facts, 100, RecoveredTransactions(dict)) == alone
    assert alone.batches == 3000


def test_damaged_or_missing_indexes_do_no_harm(segment: Path) -> None:
    whole = rebuilt_of(segment)
    index = segment.with_suffix(".index")
    index.write_bytes(index.read_bytes()[::-1] + b"\1")
    assert rebuilt_of(segment).new == whole.new
    index.unlink()
    segment.with_suffix(".timeindex").unlink()
    assert rebuilt_of(segment).new == whole.new


def test_a_log_that_grows_meanwhile(segment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rebuilt_of(segment)
    size = segment.stat().st_size
    read = rebuild_module.recover

    def read_while_it_grows(*args):
        append_garbage(segment)
        return read(*args)

    monkeypatch.setattr(rebuild_module, "recover", read_while_it_grows)
    grown = rebuilt_of(segment)
    assert grown.new == whole.new and f"indexed as of its first {size:,} bytes" in grown.notes
    with pytest.raises(Refused, match="something wrote it while it was read"):
        list(changes_in_place(grown))


TXN = CLEAN / "txn-0"


@pytest.mark.parametrize("damage", ["all gone", "last gone", "last deleted", "last corrupt", "last torn"])
def test_without_its_producer_snapshot_the_segments_before_are_read(tmp_path: Path, damage: str) -> None:
    partition = tmp_path / "txn-0"
    partition.mkdir()
    for file in TXN.iterdir():
        shutil.copyfile(file, partition / file.name)
    expected = [rebuild(t, 512).new for t in targets_of(str(partition))]
    snapshots = sorted(partition.glob("*.snapshot"))
    bases = [int(f.stem) for f in partition.glob("*.log")]
    last = next(f for f in reversed(snapshots) if int(f.stem) in bases)
    if damage == "all gone":
        for file in snapshots:
            file.unlink()
    elif damage == "last gone":
        last.unlink()
    elif damage == "last deleted":
        last.write_bytes(snapshot_bytes([]))
        last.rename(f"{last}.deleted")
    elif damage == "last corrupt":
        flip_byte(last, -1)
    else:
        shrink(last, last.stat().st_size - 4)
    found = [rebuild(t, 512) for t in targets_of(str(partition))]
    assert [r.new for r in found] == expected
    base = found[-1].target.segment.base_offset
    sound = [] if damage == "all gone" else [int(f.stem) for f in snapshots if f != last and int(f.stem) <= base]
    read = len([b for b in bases if max(sound, default=0) <= b < base])
    assert f"open transactions were found by reading {read} earlier segment{'s' * (read > 1)}" in found[-1].notes


def test_targets(tmp_path: Path) -> None:
    assert [t.below for t in targets_of(str(PLAIN))] == ["plain-0"]
    assert {t.below for t in targets_of(str(CLEAN / "txn-0"))} == {"txn-0"}
    assert {"txn-0", "plain-0", "times-0"} <= {t.below for t in targets_of(str(CLEAN))}
    with pytest.raises(UsageError, match="neither a segment"):
        list(targets_of(str(CLEAN / "meta.properties")))
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match="neither a segment"):
        list(targets_of(str(tmp_path / "notes.txt")))
    with pytest.raises(CannotRead, match="no segment"):
        list(targets_of(str(tmp_path)))
    with pytest.raises(CannotRead, match="its segment has no"):
        (tmp_path / PLAIN.with_suffix(".index").name).touch()
        list(targets_of(str(tmp_path / PLAIN.with_suffix(".index").name)))


def test_where_the_changes_go(segment: Path, tmp_path: Path) -> None:
    result = rebuilt_of(segment)
    apart = {c.path: bytes_of(c.after) for c in changes_apart(result, str(tmp_path / "out"))}
    stem = str(tmp_path / "out" / "plain-0" / segment.stem)
    assert apart == {stem + ".index": result.new[OFFSET], stem + ".timeindex": result.new[TIME]}
    os.truncate(segment, 0)
    segment.with_suffix(".txnindex").touch()
    emptied = rebuilt_of(segment)
    assert emptied.new == {OFFSET: b"", TIME: b"", TRANSACTION: b""}
    assert {c.path for c in changes_apart(emptied, str(tmp_path / "out"))} == set(apart)
    in_place = {c.path: bytes_of(c.before) for c in changes_in_place(result)}
    assert set(in_place) == {str(segment.with_suffix(s)) for s in (".index", ".timeindex")}
    assert in_place[str(segment.with_suffix(".index"))] == segment.with_suffix(".index").read_bytes()


def test_a_log_that_is_whole_and_at_rest_needs_no_remark(segment: Path) -> None:
    found = rebuilt_of(segment)
    assert (found.notes, found.log_changed, found.recovered.broken) == ("", False, None)


def test_a_marker_after_the_break_aborts_nothing(tmp_path: Path) -> None:
    """Recovery cuts the log before the batch whose CRC is wrong, so the transaction is still open."""
    partition = tmp_path / "txn-0"
    partition.mkdir()
    begun = batch([record(0)], base_offset=0, attributes=0x10, producer=(7, 0, 0))
    broken = bytearray(batch([record(0)], base_offset=1))
    abort = [record(0, key=bytes(4), value=bytes(6))]
    marker = batch(abort, base_offset=2, attributes=0x30, producer=(7, 0, -1))
    log = partition / PLAIN.name
    log.write_bytes(begun + broken + marker)
    assert len(rebuilt_of(log).recovered.transaction_index) == TRANSACTION_INDEX.size
    broken[-1] ^= 1
    log.write_bytes(begun + broken + marker)
    found = rebuilt_of(log).recovered
    assert (found.batches, found.transaction_index) == (1, b"")


@pytest.mark.parametrize(
    ("more", "early"),
    [
        ([], False),
        ([25], False),
        ([100], False),
        ([25, 30], False),
        ([25, 40], False),
        ([25, 41], True),
        ([60, 100], True),
    ],
)
def test_an_index_ends_early_where_two_entries_are_missing_over_twice_the_usual_distance(
    more: list[int], early: bool
) -> None:
    def index(*offsets: int) -> bytes:
        return b"".join(OFFSET_INDEX.struct.pack(offset, offset) for offset in offsets)

    before = from_bytes(index(10, 20))
    assert rebuild_module._ends_early(OFFSET, before, index(10, 20, *more)) is early
