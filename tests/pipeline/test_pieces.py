"""What the data source reads, without Spark: every kind against the formats' own decoding, cuts, conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.errors import UsageError
from kidx.evidence import from_bytes
from kidx.formats.indexes import INDEX_FORMATS, OFFSET_INDEX, decode, extent_of
from kidx.logdir.tree import Partition
from kidx.pipeline.filters import Conditions, conditions_from, take
from kidx.pipeline.piece_batches import read_piece
from kidx.pipeline.pieces import find_pieces, packed, safe_cuts
from kidx.pipeline.schemas import KINDS, schema_of
from tests.pipeline.support import SET, batch_starts, writable

CLEAN = str(SET / "clean")


def rows_of(kind: str, path: str, conditions: Conditions | None = None, size: int = 1 << 26) -> list[dict[str, Any]]:
    conditions = conditions or Conditions()
    pieces = find_pieces(kind, [path], conditions, size)
    return [r for p in pieces for b in read_piece(kind, p, conditions, schema_of(kind)) for r in b.to_pylist()]


@pytest.mark.parametrize("index_format", INDEX_FORMATS, ids=lambda f: f.kind)
def test_index_rows_are_the_entries(index_format: Any) -> None:
    rows = rows_of(index_format.kind, CLEAN)
    expected = 0
    for path in sorted((SET / "clean").rglob(f"*{index_format.suffix}")):
        data = path.read_bytes()
        count = extent_of(index_format, from_bytes(data)).entries
        entries = decode(index_format, data[: count * index_format.size], int(path.name[:20]))
        mine = [row for row in rows if row["file"] == str(path)]
        assert [r["slot"] for r in mine] == list(range(count))
        for name, values in entries.items():
            assert [r[name] for r in mine] == values.tolist()
        expected += count
    assert len(rows) == expected > 0
    declared = [name for name in schema_of(index_format.kind).names[5:] if name != "offset"]
    assert declared == [f.name for f in index_format.fields]


def test_batches_tile_the_log_and_records_fill_the_batches() -> None:
    for kind in ("plain-0", "codecs-4", "txn-0"):
        batches, records = rows_of("batches", f"{CLEAN}/{kind}"), rows_of("records", f"{CLEAN}/{kind}")
        for path in {row["file"] for row in batches}:
            starts = batch_starts(Path(path).read_bytes())
            assert [row["position"] for row in batches if row["file"] == path] == starts
        assert all(row["crc_ok"] for row in batches)
        assert sum(row["count"] for row in batches) == len(records)
        assert {row["position"] for row in records} <= {row["position"] for row in batches}
        assert any(isinstance(row["value"], bytes) and row["value"] for row in records)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_rows_of_its_schema(kind: str) -> None:
    name = "__consumer_offsets-0" if kind == "decoded_records" else "txn-0"
    assert set(rows_of(kind, str(SET / "clean" / name))[0]) == set(schema_of(kind).names)


def test_a_log_is_cut_where_batches_start_and_nothing_is_lost() -> None:
    directory = str(SET / "clean" / "pages13-0")
    whole = rows_of("batches", directory)
    conditions = Conditions()
    pieces = find_pieces("batches", [directory], conditions, 1 << 16)
    assert len(pieces) > 3 and {p.start for p in pieces} <= {row["position"] for row in whole}
    assert rows_of("batches", directory, size=1 << 16) == whole
    assert rows_of("records", directory, size=1 << 16) == rows_of("records", directory)
    assert sorted(p for group in packed(pieces, 1 << 17) for p in group) == sorted(pieces)


def test_a_suspect_index_cuts_nothing_wrong(tmp_path: Path) -> None:
    root = writable(SET / "clean" / "pages13-0", tmp_path / "pages13-0")
    index = root / "00000000000000000000.index"
    entry = OFFSET_INDEX.struct
    data = b"".join(entry.pack(offset, position + 3) for offset, position in entry.iter_unpack(index.read_bytes()))
    index.write_bytes(data)
    (segment,) = Partition(str(root)).segments
    assert safe_cuts(segment, 1 << 16) == [0]
    assert rows_of("batches", str(root), size=1 << 16) == rows_of("batches", str(root))


RANGES = st.tuples(st.integers(0, 300), st.integers(0, 300))


@given(RANGES, st.sampled_from(["records", "offset_index", "time_index"]))
def test_conditions_leave_out_exactly_what_they_exclude(bounds: tuple[int, int], kind: str) -> None:
    low, high = bounds
    path = f"{CLEAN}/plain-0"
    conditions = Conditions()
    conditions.bound("offset", low, high)
    assert rows_of(kind, path, conditions) == [r for r in rows_of(kind, path) if low <= r["offset"] <= high]


def test_conditions_from_options_and_their_mistakes() -> None:
    names = schema_of("records").names
    conditions = conditions_from({"topic": "a,b", "partition": "0,2", "offset": "5..", "timestamp": "7"}, names)
    assert conditions.allows(topic="a", partition=2) and not conditions.allows(topic="c", partition=2)
    assert conditions.ranges["offset"] == (5, 2**63 - 1) and conditions.ranges["timestamp"] == (7, 7)
    for wrong in ({"offset": "x"}, {"partition": "a"}, {"base_offset": "1"}):
        with pytest.raises(UsageError):
            conditions_from(wrong, names)
    for kind, columns in (("nothing", None), ("records", ["nope"])):
        with pytest.raises(UsageError):
            schema_of(kind, columns)


def test_filters_are_taken_or_given_back() -> None:
    from pyspark.sql.datasource import EqualTo, GreaterThan, In, IsNotNull, LessThanOrEqual, StringContains

    conditions = Conditions()
    kept = [EqualTo(("topic",), "t"), In(("partition",), (0, 1)), IsNotNull(("offset",))]
    back = [GreaterThan(("offset",), 4), LessThanOrEqual(("timestamp",), 9), StringContains(("file",), "x")]
    back += [EqualTo(("a", "offset"), 4), EqualTo(("value",), b"x")]
    assert take(conditions, [*kept, *back]) == back
    assert conditions.among == {"topic": {"t"}, "partition": {0, 1}}
    assert conditions.ranges["offset"][0] == 5 and conditions.ranges["timestamp"][1] == 9
    assert set(conditions.ranges) == {"offset", "timestamp"}
