"""Index entries as Parquet, written by the tasks: passing them through the JVM would take six times as long.

Each index becomes a file entries/KIND/NAME.parquet below --out. The name is a digest of the path, so a task that is run
again replaces the same file. Tasks return a row for each file; these rows are the manifest entries.parquet, with which
the next scan writes only what has changed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa

from kidx.errors import KidxError
from kidx.evidence import absolute
from kidx.pipeline.filters import Conditions
from kidx.pipeline.inventory import Unit
from kidx.pipeline.piece_batches import read_piece
from kidx.pipeline.pieces import Piece, find_pieces, packed
from kidx.pipeline.results import Row, from_arrow_text, to_arrow_text
from kidx.pipeline.schemas import INDEX_KINDS, schema_of
from kidx.pipeline.store import Store
from kidx.pipeline.waves import GROUP_BYTES, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REQUEST = pa.schema([("group", pa.int32()), ("kind", pa.string()), ("piece", pa.string()), ("mark", pa.string())])
MANIFEST = "entries.parquet"
WRITTEN = pa.schema(
    [
        ("kind", pa.string()),
        ("file", pa.string()),
        ("parquet", pa.string()),  # its path below --out, null where the file could not be read
        ("rows", pa.int64()),
        ("why", pa.string()),
        ("mark", pa.string()),  # of the unit it belongs to: see inventory.Unit
    ]
)


def write_entries(session: Callable[[], SparkSession], units: Iterable[Unit], out: str, *, fresh: bool = False) -> None:
    """Write the entries of all indexes of units that are directories, and the manifest: a row of WRITTEN for each file.

    Units whose mark equals that of all their files in the last manifest are skipped, unless `fresh`.
    """
    store = Store(out)
    marks = {absolute(unit.target.directory): unit.mark for unit in units if unit.target.names is None}
    earlier = _earlier(store)
    kept = [] if fresh else _still_valid(earlier, marks)
    changed = marks.keys() - {_directory(row) for row in kept}
    rows = kept + _written(session, {d: marks[d] for d in sorted(changed)}, out)
    for gone in {row["parquet"] for row in earlier} - {row["parquet"] for row in rows} - {None}:
        store.delete(gone)
    rows.sort(key=lambda row: str(row["file"]))
    store.write_table(MANIFEST, pa.Table.from_pylist(rows, schema=WRITTEN))


def _earlier(store: Store) -> list[Row]:
    table = store.table(MANIFEST)
    return table.to_pylist() if table is not None and table.schema.names == WRITTEN.names else []


def _still_valid(earlier: Iterable[Row], marks: Mapping[str, str]) -> list[Row]:
    """The rows of the directories whose files were all written, with the mark that the directory still has."""
    by_directory: dict[str, list[Row]] = defaultdict(list)
    for row in earlier:
        by_directory[_directory(row)].append(row)
    valid = (d for d, rows in by_directory.items() if all(r["parquet"] and r["mark"] == marks.get(d) for r in rows))
    return [row for directory in valid for row in by_directory[directory]]


def _directory(row: Row) -> str:
    return from_arrow_text(row["file"]).rpartition("/")[0]


def _written(session: Callable[[], SparkSession], marks: Mapping[str, str], out: str) -> list[Row]:
    groups = [(kind, group) for kind in INDEX_KINDS for group in packed(_pieces(kind, marks), GROUP_BYTES)]
    if not groups:
        return []
    requests = [
        {"group": number, "kind": kind, "piece": _to_json(piece), "mark": marks[piece.path.rpartition("/")[0]]}
        for number, (kind, group) in enumerate(groups)
        for piece in group
    ]
    sent = session().createDataFrame(pa.Table.from_pylist(requests, schema=_REQUEST))
    placed = sent.repartitionById(len(groups), "group")
    rows: list[Row] = placed.mapInArrow(_Writer(out), spark_schema(WRITTEN)).toArrow().to_pylist()
    return rows


def _pieces(kind: str, directories: Iterable[str]) -> list[Piece]:
    """The pieces of one kind in these directories, without those in directories below, which are listed themselves."""
    found: list[Piece] = []
    for directory in directories:
        try:
            pieces = find_pieces(kind, [directory], Conditions(), GROUP_BYTES)
        except KidxError:  # the checks report that it cannot be listed
            continue
        found += [piece for piece in pieces if piece.path.rpartition("/")[0] == directory]
    return found


def _to_json(piece: Piece) -> str:
    return json.dumps(piece._replace(path=to_arrow_text(piece.path)))


class _Writer:
    """The function for mapInArrow: pieces in, rows of WRITTEN out."""

    def __init__(self, out: str) -> None:
        self.out = absolute(out)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = Store(self.out)
        for batch in batches:
            rows = [
                write_piece(store, row["kind"], _from_json(row["piece"])) | {"mark": row["mark"]}
                for row in batch.to_pylist()
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=WRITTEN)


def _from_json(text: str) -> Piece:
    piece = Piece(*json.loads(text))
    return piece._replace(path=from_arrow_text(piece.path))


def write_piece(store: Store, kind: str, piece: Piece) -> dict[str, object]:
    """Write one piece's rows as a Parquet file. Returns its row of WRITTEN, without the mark."""
    schema = schema_of(kind)
    row: dict[str, object] = {"kind": kind, "file": to_arrow_text(piece.path), "parquet": None, "rows": 0, "why": None}
    try:
        table = pa.Table.from_batches(read_piece(kind, piece, Conditions(), schema), schema)
    except KidxError as e:
        return row | {"why": to_arrow_text(str(e))}
    digest = sha256(piece.path.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    name = f"entries/{kind}/{digest}.parquet"
    store.write_table(name, table)
    return row | {"parquet": name, "rows": table.num_rows}
