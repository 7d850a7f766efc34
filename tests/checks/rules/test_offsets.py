"""Offsets that are missing: inside a segment, at its beginning, between two; and where that proves nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kidx.checks.engine.options import QUICK
from kidx.findings import WARNING
from tests import damage
from tests.building import batch, record
from tests.checks.conftest import NEWEST, check, placed
from tests.checks.test_log_damage import batches, cut_out

SIZE = len(batch([record(0)]))
Missing = tuple[str, int, int | None, int, int]  # rule, base of the segment, byte, expected, found


def partition_of(place: Path, segments: dict[int, list[int]]) -> Path:
    """Segments of batches of one record with these offsets."""
    for base, offsets in segments.items():
        data = b"".join(batch([record(0)], base_offset=n) for n in offsets)
        (place / f"{base:020d}.log").write_bytes(data)
    return place


def missing(place: Path, **options: object) -> list[Missing]:
    found = [f for f in check(place, **options).findings if f.rule in ("KX306", "KX503")]
    for one in found:
        assert one.severity == WARNING and isinstance(one.expected, int) and isinstance(one.found, int)
        assert one.byte_end == (None if one.rule == "KX503" else (one.byte_start or 0) + 8)
    return sorted((f.rule, int(Path(f.file).stem), f.byte_start, f.expected, f.found) for f in found)  # type: ignore[misc]


SEGMENTS: dict[str, tuple[dict[int, list[int]], list[Missing]]] = {
    "all there": ({0: [0, 1], 2: [2, 3], 4: []}, []),
    "one inside": ({0: [0, 2]}, [("KX306", 0, SIZE, 1, 2)]),
    "some inside": ({0: [0, 4, 5, 7]}, [("KX306", 0, SIZE, 1, 4), ("KX306", 0, 3 * SIZE, 6, 7)]),
    "at the beginning": ({0: [2, 3]}, [("KX306", 0, 0, 0, 2)]),
    "in each segment": (
        {0: [1], 2: [2, 4], 5: [6]}, [("KX306", 0, 0, 0, 1), ("KX306", 2, SIZE, 3, 4), ("KX306", 5, 0, 5, 6)]
    ),
    "between segments": ({0: [0, 1], 3: [3]}, [("KX503", 3, None, 2, 3)]),
    "between each two": ({0: [0], 3: [3], 9: [9]}, [("KX503", 3, None, 1, 3), ("KX503", 9, None, 4, 9)]),
    "after an empty one": ({0: [], 3: [3]}, [("KX503", 3, None, 0, 3)]),
    "before the first segment": ({7: [7], 8: [8]}, []),
    "segments that overlap": ({0: [0, 1, 2], 2: [2]}, []),
}  # fmt: skip


@pytest.mark.parametrize(("segments", "wanted"), SEGMENTS.values(), ids=SEGMENTS)
def test_missing_offsets(tmp_path: Path, segments: dict[int, list[int]], wanted: list[Missing]) -> None:
    assert missing(partition_of(tmp_path, segments)) == wanted
    if wanted:
        assert missing(tmp_path, level=QUICK) == []  # logs are not read


def test_the_sentence_counts(tmp_path: Path) -> None:
    partition_of(tmp_path, {0: [0, 2, 5]})
    one, some = (f.message for f in check(tmp_path).findings if f.rule == "KX306")
    assert f" is missing before the batch at byte {SIZE}" in one
    assert f" are missing before the batch at byte {2 * SIZE}" in some


def test_a_compacted_partition_misses_nothing(tmp_path: Path) -> None:
    partition_of(tmp_path, {0: [0, 2], 5: []})
    (tmp_path / f"{5:020d}.log").write_bytes(batch([record(0)], base_offset=6, last_offset_delta=3))
    assert missing(tmp_path) == []


def test_a_damaged_batch_may_have_had_the_offsets(tmp_path: Path) -> None:
    partition_of(tmp_path, {0: [5, 6, 7], 10: [10]})
    log = tmp_path / f"{0:020d}.log"
    whole = log.read_bytes()
    assert missing(tmp_path) == [("KX306", 0, 0, 0, 5), ("KX503", 10, None, 8, 10)]
    damage.flip_byte(log, SIZE - 1)  # the first one
    assert missing(tmp_path) == [("KX503", 10, None, 8, 10)]
    log.write_bytes(whole)
    damage.flip_byte(log, 2 * SIZE - 1)  # one in the middle
    assert missing(tmp_path) == [("KX306", 0, 0, 0, 5), ("KX503", 10, None, 8, 10)]
    log.write_bytes(whole)
    damage.flip_byte(log, 3 * SIZE - 1)  # the last one
    assert missing(tmp_path) == [("KX306", 0, 0, 0, 5)]
    log.write_bytes(whole + b"\xff" * 80)
    assert missing(tmp_path) == [("KX306", 0, 0, 0, 5)]


def test_each_snapshot_of_kraft_begins_at_0_and_misses_nothing(tmp_path: Path) -> None:
    source = NEWEST / "clean/__cluster_metadata-0"
    partition = Path(shutil.copytree(source, tmp_path / source.name))
    snapshot = next(partition.glob("*.checkpoint"))
    first = batches(snapshot)[0]
    cut_out(snapshot, first)
    found = [f for f in check(partition).findings if f.rule == "KX306"]
    assert [(placed(f), f.file) for f in found] == [(("KX306", None, 0, 8, 0, first.last_offset + 1), str(snapshot))]
