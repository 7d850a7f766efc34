"""The data source's kind decoded_records: what `kidx dump --decode` says, as columns."""

from __future__ import annotations

import json
from pathlib import Path

from kidx.pipeline.filters import Conditions
from kidx.pipeline.piece_batches import read_piece
from kidx.pipeline.pieces import find_pieces
from kidx.pipeline.schemas import DECODED_RECORDS, schema_of
from tests.pipeline.support import SET
from tests.state.building import Log, commit
from tests.support import kidx_here

CLEAN = SET / "clean"


def rows_of(path: Path, conditions: Conditions | None = None) -> list[dict[str, object]]:
    chosen, schema = conditions or Conditions(), schema_of(DECODED_RECORDS)
    pieces = find_pieces(DECODED_RECORDS, [str(path)], chosen, 1 << 20)
    return [row for p in pieces for b in read_piece(DECODED_RECORDS, p, chosen, schema) for row in b.to_pylist()]


def test_what_dump_says(tmp_path: Path) -> None:
    found = rows_of(CLEAN)
    assert {row["topic"] for row in found} >= {"__consumer_offsets", "__cluster_metadata", "__transaction_state"}
    assert all(str(row["topic"]).startswith("__") for row in found), "other topics are left out"
    for directory in sorted({Path(str(row["file"])).parent for row in found}):
        mine = [row for row in found if Path(str(row["file"])).parent == directory]
        logs = sorted(directory.glob("*.log"))
        said = [row for log in logs for row in kidx_here("dump", "--decode", "--format", "jsonl", log).rows]
        assert [row["offset"] for row in mine] == [row["offset"] for row in said]
        for row, other in zip(mine, said, strict=True):
            assert row["kind"] == other["key"]["name"]
            assert row["problem"] is None
            assert (None if row["value"] is None else json.loads(str(row["value"]))) == (other["value"] or {}).get(
                "data"
            )


def test_tombstones_markers_and_what_is_unknown(tmp_path: Path) -> None:
    pairs = [commit("g", "t", 0, 5), commit("g", "t", 0, None), (b"\0\x7f", b"?"), (None, None)]
    Log(tmp_path / "__consumer_offsets-4").add(*pairs).marker(7, committed=False)
    found = rows_of(tmp_path)
    brief = [(row["kind"], row["version"], row["key"], row["problem"] is None, row["control"]) for row in found]
    key = '{"group":"g","topic":"t","partition":0}'
    assert brief == [
        ("OffsetCommit", 3, key, True, False),
        ("OffsetCommit", None, key, True, False),
        (None, None, '{"bytes":"007f"}', False, False),
        (None, None, None, False, False),
        ("ABORT", None, None, True, True),
    ]
    assert [row["value"] for row in found][1:4] == [None, '{"bytes":"3f"}', None]
    assert {row["partition"] for row in found} == {4}


def test_conditions(tmp_path: Path) -> None:
    Log(tmp_path / "__consumer_offsets-0").add(*(commit("g", "t", i, i) for i in range(9)))
    Log(tmp_path / "orders-0").add((b"k", b"v"))
    wanted = Conditions()
    wanted.bound("offset", 3, 4)
    assert [row["offset"] for row in rows_of(tmp_path, wanted)] == [3, 4]
    wanted.restrict("partition", [1])
    assert rows_of(tmp_path, wanted) == []
