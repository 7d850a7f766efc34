"""Damage to logs, and to indexes that only the log can convict: each verb is found by its rule and by no wrong one."""

from __future__ import annotations

import random
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.options import DEEP, DEFAULT, QUICK
from kidx.checks.subjects.partitions import Listing
from kidx.evidence import Evidence, open_evidence
from kidx.findings import NOTE
from kidx.formats.batches import Batch
from kidx.formats.indexes import OFFSET_INDEX, TRANSACTION_INDEX
from kidx.formats.producer_snapshot import parse_snapshot, snapshot_bytes
from kidx.logdir.tree import DataFile, Partition
from kidx.segments.walk import walk
from tests import damage
from tests.building import batch, record
from tests.checks.conftest import NEWEST, check, grave, rules
from tests.support import FIXTURES, KAFKA_SETS

Copy = Callable[[str], Path]
NAME = f"{0:020d}"


def batches(log: Path) -> list[Batch]:
    with open_evidence(str(log)) as evidence:
        return list(walk(evidence))


def cut_out(log: Path, batch: Batch) -> None:
    data = log.read_bytes()
    log.write_bytes(data[: batch.position] + data[batch.next_position :])


def repeat(log: Path, batch: Batch) -> None:
    data = log.read_bytes()
    log.write_bytes(data[: batch.next_position] + data[batch.position :])


def header(**fields: int) -> Callable[[Path, Batch], object]:
    """Overwrite header fields and mend the CRC, so that only what was meant is wrong."""

    def verb(log: Path, batch: Batch) -> object:
        damage.set_header(log, batch.position, **fields)
        return damage.fix_crc(log, batch.position)

    return verb


# verb, the rule for the log, and what may follow from it in the log's own findings
LOG_VERBS = {
    "flip in the records": (lambda p, b: damage.flip_byte(p, b.position + 70, 1), "KX301", set()),
    "flip in the CRC": (lambda p, b: damage.flip_byte(p, b.position + 18, 1), "KX301", set()),
    "flip in the last offset delta": (lambda p, b: damage.flip_byte(p, b.position + 26, 1), "KX301", set()),
    "base offset falls": (lambda p, b: damage.set_header(p, b.position, base_offset=0), "KX305", {"KX306"}),
    "base offset jumps": (
        lambda p, b: damage.set_header(p, b.position, base_offset=b.base_offset + 9),
        "KX306",
        {"KX305"},
    ),
    "cut out": (cut_out, "KX306", set()),
    "repeated": (repeat, "KX305", set()),
    "length too large": (lambda p, b: damage.overwrite(p, b.position + 8, b"\x7f\xff\xff\xff"), "KX303", set()),
    "length too small": (lambda p, b: damage.overwrite(p, b.position + 8, b"\0\0\0\5"), "KX303", set()),
    "length negative": (lambda p, b: damage.overwrite(p, b.position + 8, b"\xff\xff\xff\xff"), "KX303", set()),
    "count negative": (header(record_count=-1), "KX307", set()),
    "count too large": (header(record_count=1000), "KX307", set()),
    "delta negative": (header(last_offset_delta=-1), "KX307", {"KX305", "KX306"}),
    "unknown codec": (header(attributes=7), "KX307", set()),
    "transaction of no producer": (header(attributes=0x10, producer_id=-1), "KX307", set()),
    "marker outside a transaction": (header(attributes=0x20, producer_id=5), "KX307", set()),
    "control record of no type": (header(attributes=0x20, producer_id=-1), "KX308", set()),
    "past the next segment": (header(last_offset_delta=10_000), "KX310", {"KX305", "KX306"}),
    "too far for an index": (lambda p, b: header(last_offset_delta=2**31 - 1)(p, b), "KX309", {"KX305", "KX306"}),
    "leader epoch rises": (lambda p, b: damage.set_header(p, b.position, leader_epoch=7), "KX405", {"KX404"}),
    "in the year 2200": (header(max_timestamp=7258118400000), "KX311", set()),
}


@pytest.mark.parametrize(("verb", "code", "follows"), LOG_VERBS.values(), ids=LOG_VERBS)
def test_each_verb_on_a_batch_in_the_middle(
    copy: Copy, verb: Callable[[Path, Batch], object], code: str, follows: set[str]
) -> None:
    partition = copy("clean/plain-0")
    log = partition / f"{NAME}.log"
    every = batches(log)
    victim = every[len(every) // 2]
    verb(log, victim)
    found = [f for f in check(partition).findings if f.file == str(log)]
    assert code in rules(found)
    assert rules(found) - {code} <= follows
    at = next(f for f in found if f.rule == code)
    assert at.byte_start is not None
    assert victim.position <= at.byte_start <= victim.next_position


ENDS = {
    "torn": (lambda p: damage.shrink(p, 20), "KX302"),
    "a header begun": (lambda p: damage.append_garbage(p, bytes([0, 0, 0, 0, 0, 0, 1, 0, 0, 0])), "KX302"),
    "garbage": (lambda p: damage.append_garbage(p, b"\xff" * 80), "KX304"),
    "zeros": (lambda p: damage.zero_tail(p, p.stat().st_size + 4096), "KX312"),
}


@pytest.mark.parametrize(("verb", "code"), ENDS.values(), ids=ENDS)
def test_each_way_for_a_log_to_end(copy: Copy, verb: Callable[[Path], object], code: str) -> None:
    partition = copy("clean/mixed-0")
    log = partition / f"{NAME}.log"
    verb(log)
    checked = check(partition)
    assert rules([f for f in checked.findings if f.file == str(log)]) == {code}
    if code != "KX312":
        assert checked.coverage.bytes_skipped > 0


def test_a_torn_end_of_a_live_active_segment_is_an_append_under_way(copy: Copy) -> None:
    partition = copy("clean/mixed-0")
    damage.append_garbage(partition / f"{NAME}.log", bytes(10))
    damage.overwrite(partition / f"{NAME}.log", (partition / f"{NAME}.log").stat().st_size - 2, b"\1\1")
    assert "KX302" in rules(check(partition).findings)
    assert grave(check(partition, live=True)) == []


INDEX_VERBS = {
    "position one off": ("index", lambda o, v: (o, v + 1), "KX203"),
    "position in another batch": ("index", lambda o, v: (o, v - 7), "KX203"),
    "offset one less": ("index", lambda o, v: (o - 1, v), "KX204"),
    "time's offset one more": ("timeindex", lambda t, o: (t, o + 1), "KX206"),
    "timestamp one less": ("timeindex", lambda t, o: (t - 1, o), "KX206"),
    "timestamp one more": ("timeindex", lambda t, o: (t + 1, o), "KX206"),
}


@pytest.mark.parametrize(("kind", "change", "code"), INDEX_VERBS.values(), ids=INDEX_VERBS)
@pytest.mark.parametrize("alone", [True, False], ids=["file", "directory"])
def test_an_entry_that_only_the_log_can_convict(
    copy: Copy, kind: str, change: Callable[[int, int], tuple[int, int]], code: str, alone: bool
) -> None:
    partition = copy("clean/default-interval-0")
    file = partition / f"{NAME}.{kind}"
    slot = 4
    damage.set_entry(file, slot, *change(*damage.entry(file, slot)))
    found = grave(check(file if alone else partition))
    assert [(f.rule, f.slot, f.file) for f in found] == [(code, slot, str(file))]


def test_entries_past_the_end_of_a_log_that_was_cut(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    log, index = partition / f"{NAME}.log", partition / f"{NAME}.index"
    cut = batches(log)[len(batches(log)) // 2]
    log.write_bytes(log.read_bytes()[: cut.position])
    found = check(partition).findings
    past = [f for f in found if f.rule == "KX201"]
    entries = index.stat().st_size // 8
    assert [f.slot for f in past] == [i for i in range(entries) if damage.entry(index, i)[1] >= cut.position]
    assert rules(grave(check(partition))) <= {"KX201", "KX205", "KX503", "KX407"}


def test_a_time_index_that_lost_its_end(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    damage.shrink(partition / f"{NAME}.timeindex", 12)
    assert [f.rule for f in grave(check(partition))] == ["KX207"]


def test_a_missing_segment_is_a_gap_and_its_index_an_orphan(copy: Copy) -> None:
    partition = copy("clean/txn-0")
    bases = sorted(int(p.stem) for p in partition.glob("*.log"))
    assert len(bases) > 2
    (partition / f"{bases[1]:020d}.log").unlink()
    found = grave(check(partition))
    assert {"KX501", "KX503"} <= rules(found)
    assert rules(found) == {"KX501", "KX503"}


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_a_missing_index_is_said_and_not_made(copy: Copy, kind: str) -> None:
    partition = copy("clean/plain-0")
    (partition / f"{NAME}.{kind}").unlink()
    assert [f.rule for f in grave(check(partition))] == ["KX502"]
    assert not (partition / f"{NAME}.{kind}").exists()


def test_transaction_indexes_are_held_against_the_markers(copy: Copy) -> None:
    partition = copy("clean/txn-0")
    index = partition / f"{NAME}.txnindex"
    data = index.read_bytes()
    index.write_bytes(data[:34] + data[68:])
    assert [f.rule for f in grave(check(partition))] == ["KX401"]
    index.write_bytes(data)
    version, producer, first, last, stable = damage.entry(index, 1)
    for values in (
        (producer + 1, first, last, stable),
        (producer, first - 1, last, stable),
        (producer, first, last, stable - 1),
    ):
        damage.set_entry(index, 1, version, *values)
        found = grave(check(partition))
        assert {(f.rule, f.slot) for f in found} - {("KX401", None)} in ({("KX402", 1)}, {("KX117", 1)})
    index.unlink()
    assert rules(grave(check(partition))) == {"KX401"}


def test_snapshots_and_epochs(copy: Copy) -> None:
    partition = copy("clean/txn-0")
    snapshot = sorted(partition.glob("*.snapshot"))[-1]
    whole = snapshot.read_bytes()
    damage.flip_byte(snapshot, 20)
    assert [f.rule for f in grave(check(partition))] == ["KX406"]
    snapshot.write_bytes(whole[:7])
    assert [f.rule for f in grave(check(partition))] == ["KX406"]
    producers = parse_snapshot(whole).producers
    snapshot.write_bytes(snapshot_bytes([producers[0]._replace(producer_id=99), *producers[1:]]))
    assert rules(grave(check(partition))) == {"KX407"}
    snapshot.write_bytes(whole)
    epochs = partition / "leader-epoch-checkpoint"
    epochs.write_text("0\n1\n5 0\n")
    assert rules(grave(check(partition))) == {"KX405"}
    epochs.write_text("0\n2\n5 0\n")
    assert rules(grave(check(partition))) == {"KX505"}
    (partition / "partition.metadata").write_text("nonsense\n")
    assert rules(grave(check(partition))) == {"KX505"}


def test_records_are_looked_into_with_deep_only(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    log = partition / f"{NAME}.log"
    victim = batches(log)[2]
    damage.flip_byte(log, victim.position + 61, 0x7E)
    damage.fix_crc(log, victim.position)
    assert grave(check(partition)) == []
    found = grave(check(partition, level=DEEP))
    assert [(f.rule, f.byte_start) for f in found] == [("KX308", victim.position)]


def test_mutated_logs_never_crash_and_claim_no_more_than_was_read(copy: Copy) -> None:
    partition = copy("clean/codecs-1")
    log = partition / f"{NAME}.log"
    whole = log.read_bytes()
    chance = random.Random(1)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(data))
            data[at : at + 4] = struct.pack(">I", chance.choice([0, 1, 2**31, 2**32 - 1, chance.randrange(2**32)]))
        if chance.random() < 0.4:
            del data[chance.randrange(len(data)) :]
        log.write_bytes(data)
        checked = check(partition, level=DEEP)
        files = [f for f in partition.iterdir() if f.is_file()]
        total = sum(f.stat().st_size for f in files)
        assert checked.coverage.bytes_checked + checked.coverage.bytes_skipped == total
        for one in checked.findings:
            assert one.byte_start is None or 0 <= one.byte_start <= (one.byte_end or 0)


@pytest.mark.parametrize("root", KAFKA_SETS, ids=lambda p: p.name)
def test_a_flipped_bit_is_found_in_every_format(root: Path, tmp_path: Path) -> None:
    """In v0, v1 and v2 and under every codec."""
    for log in sorted((root / "old").rglob("*.log")) + sorted((root / "clean").glob("codecs-*/*.log")):
        victim = batches(log)[-1]
        file = tmp_path / log.parent.name / log.stem / log.name
        file.parent.mkdir(parents=True)
        file.write_bytes(log.read_bytes())
        damage.flip_byte(file, victim.next_position - 3, 4)
        found = [f for f in grave(check(file)) if f.file == str(file)]
        assert [(f.rule, f.byte_start) for f in found] == [("KX301", victim.position)], log


def test_an_index_that_lost_entries_in_the_middle_is_sparse(copy: Copy) -> None:
    partition = copy("clean/pages13-0")
    index = partition / f"{NAME}.index"
    data = index.read_bytes()
    index.write_bytes(data[: 100 * 8] + data[150 * 8 :])
    found = check(partition).findings
    assert [(f.rule, f.slot) for f in found if f.file == str(index)] == [("KX208", 99)]


def test_an_emptied_offset_index_leaves_the_time_index_alone(copy: Copy) -> None:
    partition = copy("clean/default-interval-0")
    (partition / f"{NAME}.index").write_bytes(b"")
    assert "KX118" in rules(check(partition).findings)
    assert grave(check(partition)) == []


@pytest.mark.parametrize("live", [False, True])
def test_a_file_that_vanishes_is_said_to_have_and_is_no_corruption(
    copy: Copy, live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = copy("clean/plain-0")
    gone = partition / f"{NAME}.timeindex"
    before = DataFile.open

    def vanishing(self: DataFile) -> Evidence:
        if self.path == str(gone):
            gone.unlink()
        return before(self)

    monkeypatch.setattr(DataFile, "open", vanishing)
    checked = check(partition, live=live)
    assert grave(checked) == []
    assert checked.coverage.unreadable == len(checked.unread) == (0 if live else 1)
    said = checked.unread if not live else [s.why for s in checked.coverage.skipped]
    assert all("deleted while the directory was checked" in sentence for sentence in said)
    assert said


def test_a_file_that_grows_while_it_is_read_is_no_corruption(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = copy("clean/plain-0")
    growing = partition / f"{NAME}.log"
    monkeypatch.setattr(Evidence, "changed", lambda self: self.path == str(growing))
    checked = check(partition)
    assert [s for s in checked.unread if "changed while it was read" in s]
    assert grave(checked) == []
    assert check(partition, live=True).unread == []


@pytest.mark.parametrize("which", [0, -1, "marker"])
def test_a_damaged_batch_is_no_gap_and_no_other_files_fault(copy: Copy, which: int | str) -> None:
    partition = copy("clean/txn-0")
    log = partition / f"{NAME}.log"
    markers = [b for b in batches(log) if b.control]
    victim = markers[1] if which == "marker" else batches(log)[int(which)]
    damage.flip_byte(log, victim.next_position - 1)
    assert [(f.rule, f.byte_start) for f in grave(check(partition))] == [("KX301", victim.position)]


def test_where_a_transaction_began_is_not_known_of_a_log_that_lost_its_beginning(copy: Copy) -> None:
    partition = copy("clean/txn-0")
    for file in [*partition.glob(f"{NAME}.*"), *partition.glob("*.snapshot")]:
        file.unlink()
    assert grave(check(partition)) == []
    index = next(partition.glob("*.txnindex"))
    index.write_bytes(index.read_bytes()[: -TRANSACTION_INDEX.size])  # the last one is sure to have begun here
    assert rules(grave(check(partition))) == {"KX401"}


def test_an_entry_may_not_point_into_a_logs_zero_tail(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    log = sorted(partition.glob("*.log"))[-1]
    last = batches(log)[-1]
    data = log.read_bytes()
    log.write_bytes(data[: last.position] + bytes(8192))
    index = log.with_suffix(".index")
    slot = index.stat().st_size // OFFSET_INDEX.size - 1
    damage.set_entry(index, slot, last.last_offset - int(log.stem), last.position)
    assert "KX201" in rules(grave(check(partition)))


def test_a_snapshot_past_the_end_tells_that_the_log_was_cut(copy: Copy) -> None:
    partition = copy("clean/txn-0")
    log = sorted(partition.glob("*.log"))[-1]
    damage.shrink(log, batches(log)[-1].size)
    assert "KX407" in rules(grave(check(partition)))


def test_a_marker_written_while_a_live_directory_is_read(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is read first: a marker that the log has got since has its entry by now."""
    import kidx.checks.engine.segment as segment

    partition = copy("clean/txn-0")
    index = partition / f"{NAME}.txnindex"
    whole = index.read_bytes()
    check_log = segment.check_log

    def appended(log: Evidence, *args: object) -> object:
        index.write_bytes(whole)
        return check_log(log, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(segment, "check_log", appended)
    for live, expected in ((True, set()), (False, {"KX401"})):
        index.write_bytes(whole[: -TRANSACTION_INDEX.size])
        assert rules(grave(check(partition, live=live))) == expected


def test_a_leader_elected_while_a_live_directory_is_read(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    log = sorted(partition.glob("*.log"))[-1]
    damage.set_header(log, batches(log)[-1].position, leader_epoch=9)
    assert rules(grave(check(partition))) == {"KX405"}
    assert grave(check(partition, live=True)) == []


def test_segments_made_and_deleted_while_a_live_directory_is_listed(tmp_path: Path) -> None:
    """The listing may have one file of a segment and not yet, or not any more, the other."""
    names = [f"{base:020d}{suffix}" for base in (100, 200, 300) for suffix in (".log", ".index", ".timeindex")]
    names.remove(f"{200:020d}.index")  # made after the listing
    names.remove(f"{100:020d}.log")  # deleted before it, and its indexes after it
    for name in (*names[2:], f"{200:020d}.index"):
        (tmp_path / name).touch()
    partition = Partition(str(tmp_path), [SimpleNamespace(name=name) for name in names])
    assert list(findings_about(Listing(partition, live=True))) == []
    assert rules(list(findings_about(Listing(partition, live=False)))) == {"KX501", "KX502"}


@pytest.mark.parametrize("level", [DEFAULT, DEEP])
def test_an_old_compressed_message_that_cannot_be_inflated_is_no_gap(tmp_path: Path, level: str) -> None:
    """Its first offset lies inside, so nobody knows where it began."""
    source = FIXTURES / "kafka-2.8.2/old/v1-gzip-0"
    partition = Path(shutil.copytree(source, tmp_path / source.name))
    log = sorted(partition.glob("*.log"))[0]
    victim = batches(log)[1]
    damage.flip_byte(log, victim.next_position - 3)
    data = bytearray(log.read_bytes())
    crc = zlib.crc32(data[victim.position + 16 : victim.next_position])
    log.write_bytes(data[: victim.position + 12] + crc.to_bytes(4, "big") + data[victim.position + 16 :])
    assert [(f.rule, f.byte_start) for f in grave(check(partition, level=level))] == [("KX308", victim.position)]


def test_a_kraft_snapshot_without_its_first_batch_or_one_inside(tmp_path: Path) -> None:
    source = next((NEWEST / "clean/__cluster_metadata-0").glob("*.checkpoint"))
    for at in (0, 1):
        snapshot = Path(shutil.copy(source, tmp_path / source.name))
        batch = batches(snapshot)[at]
        cut_out(snapshot, batch)
        (one,) = grave(check(snapshot))
        assert (one.rule, one.expected, one.found) == ("KX306", batch.base_offset, batch.last_offset + 1)


@pytest.mark.parametrize(
    ("timestamps", "codes"),
    [([0], set()), ([0, 0], set()), ([0, 5], {"KX207"}), ([1000], {"KX207"}), ([-1], {"KX110"})],
    ids=str,
)
def test_a_time_index_of_twelve_zeros_is_an_entry_if_the_log_says_so(
    tmp_path: Path, timestamps: list[int], codes: set[str]
) -> None:
    """As LogSegment 4.3.1 does: it writes (0, base) for records of timestamp 0, and takes the bytes for that entry."""
    log = tmp_path / f"{100:020d}.log"
    log.write_bytes(
        b"".join(batch([record()], base_offset=100 + i, base_timestamp=t) for i, t in enumerate(timestamps))
    )
    log.with_suffix(".timeindex").write_bytes(bytes(12))
    log.with_suffix(".index").touch()
    assert rules(check(tmp_path).findings) == codes
    assert rules(check(tmp_path, level=QUICK).findings) == {"KX110"}
    log.with_suffix(".index").write_bytes(bytes(8))  # no broker writes that; it reads it as it reads nothing
    found = [f for f in check(tmp_path).findings if f.file.endswith(".index")]
    assert [(f.rule, f.severity) for f in found] == [("KX110", NOTE)]
