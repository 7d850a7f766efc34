"""Which releases can have written a segment: never a wrong one, and unknown where the files do not show it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kidx.logdir.tree import Partition, partitions_below
from kidx.segments import writer
from kidx.segments.walk import walk
from kidx.segments.writer import FIRST, LAST, MIXED, UNKNOWN, writer_of_partition, writer_of_segment
from tests import damage
from tests.support import OWN_FIXTURES as FIXTURES

VERSIONS = FIXTURES / "versions"
WRITTEN = {
    "0.9.0.1": (writer.BEFORE_0_10, None),
    "0.10.2.2": (writer.UP_TO_1_1, FIRST),
    "0.11.0.3": (writer.V0_11_TO_1_1, FIRST),
    "1.1.1": (writer.V0_11_TO_1_1, FIRST),
    "2.3.1": (writer.SINCE_2_0, LAST),
    "2.4.1": (writer.SINCE_2_0, LAST),
    "3.7.2": (writer.SINCE_2_8, LAST),
}


@pytest.mark.parametrize("version", WRITTEN)
def test_the_family_of_each_version_is_known_from_its_partitions(version: str) -> None:
    for partition in partitions_below(str(VERSIONS / version)):
        found = writer_of_partition(partition)
        assert (found.family, found.index_offsets) == WRITTEN[version]
        assert found.signs


def test_no_sign_excludes_the_release_that_wrote_the_files() -> None:
    sets = [*VERSIONS.iterdir(), *FIXTURES.glob("kafka-*/clean"), *FIXTURES.glob("kafka-*/compaction/after")]
    for root in sets:
        name = root.name if root.parent == VERSIONS else root.relative_to(FIXTURES).parts[0].split("-")[1]
        release = tuple(map(int, name.split(".")[:2]))
        for partition in partitions_below(str(root)):
            for found in (writer_of_partition(partition), *map(writer_of_segment, partition.segments)):
                assert found.oldest is None or found.oldest <= release, (partition.directory, found)
                assert found.newest is None or found.newest >= release, (partition.directory, found)


def test_a_delete_horizon_is_a_sign_of_3_1() -> None:
    partition = Partition(str(VERSIONS / "3.7.2" / "compact-0"))
    assert writer_of_segment(partition.segments[0]).family == writer.SINCE_3_1


def test_an_index_upgraded_in_the_middle_is_mixed_and_excludes_nothing(tmp_path: Path) -> None:
    shutil.copytree(VERSIONS / "1.1.1" / "plain-0", tmp_path / "plain-0")
    segment = Partition(str(tmp_path / "plain-0")).segments[0]
    assert writer_of_segment(segment).index_offsets == FIRST
    index = Path(segment.files["offset_index"].path)
    relative, position = damage.entry(index, 1)
    with segment.files["log"].open() as log:
        batch = next(walk(log, position))
    assert batch.base_offset == segment.base_offset + relative < batch.last_offset
    damage.set_entry(index, 1, batch.last_offset - segment.base_offset, position)
    mixed = writer_of_segment(segment)
    assert (mixed.index_offsets, mixed.newest, mixed.family) == (MIXED, None, UNKNOWN)


def test_damage_shows_nothing(tmp_path: Path) -> None:
    shutil.copytree(VERSIONS / "1.1.1" / "plain-0", tmp_path / "plain-0")
    for file in (tmp_path / "plain-0").iterdir():
        file.write_bytes(b"\xff" * 1000)
    segment = Partition(str(tmp_path / "plain-0")).segments[0]
    found = writer_of_segment(segment)
    assert (found.family, found.index_offsets) == (UNKNOWN, None)
    Path(segment.files["log"].path).unlink()
    assert writer_of_segment(segment).family == UNKNOWN
