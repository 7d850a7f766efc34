"""Records in the order of offsets, each once; what is damaged, missing, aborted or withheld is accounted for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kidx.export.coverage import Coverage
from kidx.export.reading import Asked, PartitionRecords
from kidx.export.sources import Wanted, find_sources
from kidx.library import open_partition
from kidx.segments.sought_key import SoughtKey
from tests.damage import flip_byte, set_header
from tests.support import KAFKA_SETS, answers

CLEAN = KAFKA_SETS[0] / "clean"
ALL = Asked(control=True)


def read(*paths: Path, asked: Asked = Asked(), wanted: Wanted = Wanted()) -> tuple[list[int], Coverage]:  # noqa: B008
    sources, unread = find_sources([str(path) for path in paths], wanted)
    assert not unread
    (source,) = sources
    records = PartitionRecords(source, asked)
    offsets = [offset for block in records for offset in block.columns.offset.tolist()]
    return offsets, records.coverage


def copied(source: Path, tmp_path: Path, name: str = "") -> Path:
    return Path(shutil.copytree(source, tmp_path / (name or source.name)))


def logs(partition: Path) -> list[Path]:
    return sorted(path for path in partition.glob("*.log") if path.stat().st_size > 200)


@pytest.mark.parametrize("partition", ["plain-0", "txn-0", "mixed-0", "codecs-1", "times-0", "logappend-0"])
@pytest.mark.parametrize("fixture_set", KAFKA_SETS, ids=lambda path: path.name)
def test_all_records_once_as_the_plain_decoder_gives_them(fixture_set: Path, partition: str) -> None:
    directory = fixture_set / "clean" / partition
    offsets, coverage = read(directory, asked=Asked(control=True))
    assert offsets == [record.offset for record in open_partition(str(directory)).records()]
    assert (coverage.damaged, coverage.missing, coverage.status) == ([], [], 0)


@pytest.mark.parametrize("fixture_set", KAFKA_SETS, ids=lambda path: path.name)
def test_read_committed_gives_what_a_consumer_saw(fixture_set: Path) -> None:
    rows = answers(fixture_set, "txn_visible.tsv")
    wanted = [int(row["offset"]) for row in rows if row["visible_to_read_committed"] == "1"]
    offsets, coverage = read(fixture_set / "clean/txn-0", asked=Asked(committed=True))
    assert offsets == wanted
    everything, _ = read(fixture_set / "clean/txn-0")
    left_out = sum(entry["records"] for entry in coverage.aborted)
    assert left_out == coverage.aborted_records > 0
    assert coverage.withheld, "the fixture has an open transaction"
    assert len(everything) > len(offsets) + left_out


def test_read_committed_from_an_offset_in_the_middle() -> None:
    whole, _ = read(CLEAN / "txn-0", asked=Asked(committed=True))
    part, _ = read(CLEAN / "txn-0", asked=Asked(committed=True, offsets=(130, None)))
    assert part == [offset for offset in whole if offset >= 130]


def test_a_damaged_abort_marker_is_replaced_by_the_transaction_index(tmp_path: Path) -> None:
    directory = copied(CLEAN / "txn-0", tmp_path)
    wanted, coverage = read(directory, asked=Asked(committed=True))
    marker = coverage.aborted[0]["last_offset"]
    for log in logs(directory):
        for row in open_rows(log):
            if row["base_offset"] == marker:
                flip_byte(log, int(row["position"]) + 64)
    offsets, damaged = read(directory, asked=Asked(committed=True))
    assert offsets == wanted
    assert len(damaged.damaged) == 1


def open_rows(log: Path) -> list[dict[str, int]]:
    from kidx.evidence import open_evidence
    from kidx.segments.walk import walk

    with open_evidence(str(log)) as evidence:
        return [{"position": b.position, "base_offset": b.base_offset, "size": b.size} for b in walk(evidence)]


def test_a_batch_with_a_wrong_crc_is_left_out_and_listed(tmp_path: Path) -> None:
    directory = copied(CLEAN / "plain-0", tmp_path)
    before, _ = read(directory)
    log = logs(directory)[0]
    row = open_rows(log)[2]
    flip_byte(log, row["position"] + 70)
    offsets, coverage = read(directory)
    (damage,) = coverage.damaged
    assert (damage["byte_start"], damage["byte_end"]) == (row["position"], row["position"] + row["size"])
    gone = sorted(set(before) - set(offsets))
    assert gone[0] == row["base_offset"]
    (missing,) = coverage.missing
    assert (missing["first_offset"], missing["last_offset"]) == (gone[0], gone[-1])
    assert coverage.status == 1
    everything, _ = read(directory, asked=Asked(damaged=True))
    assert everything == before


def test_reading_goes_on_after_bytes_that_are_no_batch(tmp_path: Path) -> None:
    directory = copied(CLEAN / "plain-0", tmp_path)
    before, _ = read(directory)
    log = logs(directory)[0]
    row = open_rows(log)[1]
    set_header(log, row["position"], length=-5)
    offsets, coverage = read(directory)
    assert set(before) - set(offsets) == set(range(row["base_offset"], open_rows_after(log, row)))
    assert coverage.damaged[0]["byte_start"] == row["position"]


def open_rows_after(log: Path, row: dict[str, int]) -> int:
    clean = CLEAN / log.parent.name / log.name
    return next(r["base_offset"] for r in open_rows(clean) if r["position"] == row["position"] + row["size"])


def test_damage_is_filled_from_a_replica_in_order(tmp_path: Path) -> None:
    first = copied(CLEAN / "txn-0", tmp_path / "broker-1")
    second = copied(CLEAN / "txn-0", tmp_path / "broker-2")
    before, _ = read(first, asked=ALL)
    assert read(first, second, asked=ALL)[0] == before, "replicas do not double rows"
    log = logs(first)[0]
    flip_byte(log, open_rows(log)[2]["position"] + 70)
    logs(first)[-2].unlink()
    offsets, coverage = read(tmp_path, asked=ALL)
    assert offsets == before
    assert (len(coverage.damaged), coverage.missing, coverage.status) == (1, [], 1)


def test_a_lost_segment_is_missing_and_a_compacted_log_is_not(tmp_path: Path) -> None:
    directory = copied(CLEAN / "txn-0", tmp_path)
    before, _ = read(directory, asked=ALL)
    lost = logs(directory)[1]
    following = logs(directory)[2]
    lost.unlink()
    offsets, coverage = read(directory, asked=ALL)
    gap = range(int(lost.stem), int(following.stem))
    assert set(before) - set(offsets) == set(gap)
    (missing,) = coverage.missing
    assert (missing["first_offset"], missing["last_offset"]) == (gap[0], gap[-1])
    for compacted in (KAFKA_SETS[0] / "compaction/after").glob("compacted*-0"):
        assert read(compacted)[1].status == 0, compacted


def test_deleted_files_are_read_only_on_request_and_below_the_live_log() -> None:
    directory = KAFKA_SETS[0] / "live/trimmed-0"
    live, coverage = read(directory)
    rescued, _ = read(directory, wanted=Wanted(all_states=True))
    assert coverage.status == 0
    assert rescued[-len(live) :] == live
    assert rescued[0] < live[0]
    assert len(set(rescued)) == len(rescued)


def test_overlapping_segments_give_each_offset_once(tmp_path: Path) -> None:
    directory = copied(CLEAN / "plain-0", tmp_path)
    before, _ = read(directory)
    first, second = logs(directory)[:2]
    first.write_bytes(first.read_bytes() + second.read_bytes()[: open_rows(second)[2]["position"]])
    offsets, coverage = read(directory)
    assert offsets == before
    assert coverage.status == 0


def test_offsets_times_and_keys(tmp_path: Path) -> None:
    records = list(open_partition(str(CLEAN / "plain-0")).records())
    assert read(CLEAN / "plain-0", asked=Asked(offsets=(100, 120)))[0] == list(range(100, 121))
    times = sorted(record.timestamp for record in records)
    since, until = times[50], times[70]
    wanted = [r.offset for r in records if since <= r.timestamp <= until]
    assert read(CLEAN / "plain-0", asked=Asked(timestamps=(since, until)))[0] == wanted
    key = records[145].key
    assert key is not None
    import hashlib

    same = [r.offset for r in records if r.key == key]
    assert read(CLEAN / "plain-0", asked=Asked(key=SoughtKey(key)))[0] == same
    assert read(CLEAN / "plain-0", asked=Asked(key=SoughtKey(hashlib.sha256(key).digest(), is_digest=True)))[0] == same


def test_topics_created_again_are_two_partitions(tmp_path: Path) -> None:
    for number, topic_id in enumerate(("AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg")):
        directory = copied(CLEAN / "plain-0", tmp_path / f"d{number}")
        (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    sources, _ = find_sources([str(tmp_path)], Wanted())
    assert [source.name for source in sources] == ["plain-0", "plain-0.2"]
