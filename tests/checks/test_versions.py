"""What brokers of every age wrote is healthy; the same files with one thing changed are not."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from kidx.checks.engine.options import DEEP, DEFAULT, Options
from kidx.checks.engine.run import check_all
from kidx.checks.engine.targets import targets_of
from kidx.findings import ERROR, NOTE, Finding
from kidx.formats.checksums import crc32c
from kidx.formats.producer_snapshot import HEADER_BYTES, PRODUCER_ENTRY, parse_snapshot
from tests.checks.conftest import NEWEST, check, grave
from tests.damage import entry, overwrite, set_entry
from tests.support import OWN_FIXTURES, unpacked

ARCHIVES = sorted(path.name.removesuffix(".tar.xz") for path in (OWN_FIXTURES / "brokers").glob("*.tar.xz"))


@pytest.mark.parametrize("level", [DEFAULT, DEEP])
@pytest.mark.parametrize("archive", ARCHIVES)
def test_what_brokers_left_is_healthy_in_every_stage(archive: str, level: str) -> None:
    for stage in filter(Path.is_dir, unpacked(archive).iterdir()):
        checked = check_all(targets_of([str(stage)]), Options(level=level, live=stage.name == "live"))
        assert grave(checked) == [], stage
        assert checked.unread == []


def partition(tmp_path: Path, archive: str, name: str, stage: str = "clean") -> Path:
    """A copy of a partition that lies alone, without its log dir."""
    (found,) = (unpacked(archive) / stage).glob(f"**/{name}")
    return Path(shutil.copytree(found, tmp_path / name))


def of(code: str, path: Path) -> list[Finding]:
    return [f for f in check(path).findings if f.rule == code]


def first_named(path: Path) -> tuple[Path, Finding]:
    """An index of a directory in which most entries name first offsets, and the note about it."""
    found = max(of("KX210", path), key=lambda f: f.found)
    return Path(found.file), found


@pytest.mark.parametrize(("archive", "name"), [("kafka-0.11.0.3", "plain-0"), ("kafka-1.1.1", "codecs-2")])
def test_first_offsets_are_noted_once_an_index(tmp_path: Path, archive: str, name: str) -> None:
    path = partition(tmp_path, archive, name)
    index, note = first_named(path)
    assert (note.severity, note.slot, note.expected) == (NOTE, None, None)
    assert 0 < note.found <= index.stat().st_size // 8
    assert of("KX204", path) == []


@pytest.mark.parametrize("off", [-1, 1])
def test_an_offset_between_first_and_last_is_wrong_in_an_old_index_too(tmp_path: Path, off: int) -> None:
    path = partition(tmp_path, "kafka-1.1.1", "codecs-2")
    index, note = first_named(path)
    slot = note.found // 2
    relative, position = entry(index, slot)
    set_entry(index, slot, relative + off, position)
    assert ("KX204", slot, ERROR) in [(f.rule, f.slot, f.severity) for f in grave(check(path))]


def test_no_broker_goes_back_to_first_offsets(tmp_path: Path) -> None:
    """Slot 0 may name one, as after an upgrade; a later entry may not."""
    for slot in (0, 5):
        path = Path(shutil.copytree(NEWEST / "clean/codecs-1", tmp_path / f"{slot}" / "codecs-1"))
        index = max(path.glob("*.index"), key=lambda p: p.stat().st_size)
        log = index.with_suffix(".log").read_bytes()
        relative, position = entry(index, slot)
        base = struct.unpack_from(">q", log, position)[0] - int(index.stem)
        assert base < relative
        set_entry(index, slot, base, position)
        found = [(f.rule, f.slot) for f in check(path).findings if f.file == str(index)]
        assert found == ([("KX210", None)] if slot == 0 else [("KX204", 5)])


@pytest.mark.parametrize(("archive", "name"), [("kafka-0.11.0.3", "txn-0"), ("kafka-1.1.1", "txn-0")])
@pytest.mark.parametrize(("field", "off"), [("last_offset", 1), ("timestamp", 1), ("producer_epoch", 1)])
def test_snapshots_of_old_brokers_are_held_against_the_log(
    tmp_path: Path, archive: str, name: str, field: str, off: int
) -> None:
    path = partition(tmp_path, archive, name)
    assert grave(check(path)) == []
    snapshot = max(path.glob("*.snapshot"))
    data = bytearray(snapshot.read_bytes())
    producer = parse_snapshot(bytes(data)).producers[0]
    wrong = producer._replace(**{field: getattr(producer, field) + off})
    data[HEADER_BYTES : HEADER_BYTES + PRODUCER_ENTRY.size] = PRODUCER_ENTRY.struct.pack(*wrong)
    data[2:6] = struct.pack(">I", crc32c(bytes(data[6:])))
    overwrite(snapshot, 0, bytes(data))
    assert [(f.rule, f.slot) for f in grave(check(path))] == [("KX407", 0)]


@pytest.mark.parametrize("archive", ["kafka-1.1.1", "kafka-2.3.1", "kafka-2.4.1"])
def test_transactions_that_a_rebuild_found_compacted_away(archive: str) -> None:
    reindexed = unpacked(archive) / "reindexed"
    (path,) = reindexed.glob("**/compacttxn-0")
    same = 0
    for index in path.glob("*.txnindex"):
        data = index.read_bytes()
        rows = [struct.unpack_from(">hqqqq", data, at) for at in range(0, len(data), 34)]
        same += sum(first == last for _, _, first, last, _ in rows)
    assert same
    assert grave(check(path)) == []


def test_a_transaction_whose_records_are_there_begins_before_its_marker(tmp_path: Path) -> None:
    path = Path(shutil.copytree(NEWEST / "clean/txn-0", tmp_path / "txn-0"))
    index = max(path.glob("*.txnindex"), key=lambda p: p.stat().st_size)
    last = struct.unpack_from(">q", index.read_bytes(), 2 * 34 + 18)[0]
    overwrite(index, 2 * 34 + 10, struct.pack(">q", last))
    assert [(f.rule, f.slot) for f in grave(check(path))] == [("KX402", 2)]


def test_time_indexes_of_messages_without_timestamps(tmp_path: Path) -> None:
    assert grave(check(partition(tmp_path, "kafka-0.10.2.2", "v0-1"))) == []
    path = partition(tmp_path, "kafka-0.10.2.2", "v0-0")
    assert grave(check(path)) == []
    index = max(path.glob("*.timeindex"), key=lambda p: p.stat().st_size)
    set_entry(index, index.stat().st_size // 12 - 1, entry(index, -1)[0], 100_000)
    assert {f.rule for f in grave(check(path))} == {"KX112"}  # its offset is judged all the same


def test_brokers_before_0_10_have_no_time_indexes(tmp_path: Path) -> None:
    clean = unpacked("kafka-0.9.0.1") / "clean"
    (log_dir,) = [d for d in clean.iterdir() if (d / "meta.properties").exists()][:1]
    root = Path(shutil.copytree(log_dir, tmp_path / "data"))
    assert grave(check_all(targets_of([str(root)]), Options())) == []
    made = max((d for d in root.iterdir() if d.is_dir()), key=lambda d: sum(f.stat().st_size for f in d.iterdir()))
    (made / f"{0:020d}.timeindex").touch()  # as after an upgrade: then the others lack theirs
    rules = {f.rule for f in grave(check_all(targets_of([str(root)]), Options()))}
    assert "KX502" in rules


def test_findings_in_a_deleted_partition_are_notes(tmp_path: Path) -> None:
    name = f"plain-0.{'ab' * 16}-delete"
    path = Path(shutil.copytree(NEWEST / "clean/plain-0", tmp_path / name))
    index = max(path.glob("*.index"), key=lambda p: p.stat().st_size)
    set_entry(index, 2, 0, 0)
    found = check(path).findings
    assert found
    assert {f.severity for f in found} == {NOTE}
