"""Index entries as Parquet, written by the tasks themselves: through the JVM they would take six times as long.

Each piece becomes a file entries/KIND/NAME.parquet below --out; the name is a digest of the piece, so that a task that
is run again writes the same file, and a passing name keeps half a file from ever being seen. What comes back is a row
for each file: entries.parquet, the manifest of the entries. With its help the next scan writes only what has changed.
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
from kidx.pipeline.pieces import Piece, find_pieces, packed
from kidx.pipeline.results import Row, shield, unshield
from kidx.pipeline.rows import read_piece
from kidx.pipeline.schemas import INDEX_KINDS, schema_of
from kidx.pipeline.store import Store
from kidx.pipeline.waves import GROUP_BYTES, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ASKED = pa.schema([("group", pa.int32()), ("kind", pa.string()), ("piece", pa.string()), ("mark", pa.string())])
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
    """Write the entries of all indexes of whole-directory units, and the manifest, a row of WRITTEN for each file.

    Units with the mark that the last manifest has for all their files are left as they are, unless `fresh`.
    """
    store = Store(out)
    marks = {absolute(unit.target.directory): unit.mark for unit in units if unit.target.names is None}
    earlier = _earlier(store)
    kept = [] if fresh else _still_good(earlier, marks)
    changed = marks.keys() - {_directory(row) for row in kept}
    rows = kept + _written(session, {d: marks[d] for d in sorted(changed)}, out)
    for gone in {row["parquet"] for row in earlier} - {row["parquet"] for row in rows} - {None}:
        store.delete(gone)
    rows.sort(key=lambda row: str(row["file"]))
    store.write_table(MANIFEST, pa.Table.from_pylist(rows, schema=WRITTEN))


def _earlier(store: Store) -> list[Row]:
    table = store.table(MANIFEST)
    return table.to_pylist() if table is not None and table.schema.names == WRITTEN.names else []


def _still_good(earlier: Iterable[Row], marks: Mapping[str, str]) -> list[Row]:
    """The rows of directories all of whose files were written with the mark that the directory has now."""
    by_directory: dict[str, list[Row]] = defaultdict(list)
    for row in earlier:
        by_directory[_directory(row)].append(row)
    good = (d for d, rows in by_directory.items() if all(r["parquet"] and r["mark"] == marks.get(d) for r in rows))
    return [row for directory in good for row in by_directory[directory]]


def _directory(row: Row) -> str:
    return unshield(row["file"]).rpartition("/")[0]


def _written(session: Callable[[], SparkSession], marks: Mapping[str, str], out: str) -> list[Row]:
    groups = [(kind, group) for kind in INDEX_KINDS for group in packed(_pieces(kind, marks), GROUP_BYTES)]
    if not groups:
        return []
    asked = [
        {"group": number, "kind": kind, "piece": _said(piece), "mark": marks[piece.path.rpartition("/")[0]]}
        for number, (kind, group) in enumerate(groups)
        for piece in group
    ]
    sent = session().createDataFrame(pa.Table.from_pylist(asked, schema=_ASKED))
    placed = sent.repartitionById(len(groups), "group")
    rows: list[Row] = placed.mapInArrow(_Writer(out), spark_schema(WRITTEN)).toArrow().to_pylist()
    return rows


def _pieces(kind: str, directories: Iterable[str]) -> list[Piece]:
    """The pieces of one kind, directory by directory: whole trees would come in twice."""
    found: list[Piece] = []
    for directory in directories:
        try:
            pieces = find_pieces(kind, [directory], Conditions(), GROUP_BYTES)
        except KidxError:  # the checks have said that it cannot be listed
            continue
        found += [piece for piece in pieces if piece.path.rpartition("/")[0] == directory]
    return found


def _said(piece: Piece) -> str:
    return json.dumps(piece._replace(path=shield(piece.path)))


class _Writer:
    """The function for mapInArrow: pieces in, rows of WRITTEN out."""

    def __init__(self, out: str) -> None:
        self.out = absolute(out)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = Store(self.out)
        for batch in batches:
            rows = [
                write_piece(store, row["kind"], _piece(row["piece"])) | {"mark": row["mark"]}
                for row in batch.to_pylist()
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=WRITTEN)


def _piece(said: str) -> Piece:
    piece = Piece(*json.loads(said))
    return piece._replace(path=unshield(piece.path))


def write_piece(store: Store, kind: str, piece: Piece) -> dict[str, object]:
    """Write one piece's rows as a Parquet file; the row that tells of it."""
    schema = schema_of(kind)
    told: dict[str, object] = {"kind": kind, "file": shield(piece.path), "parquet": None, "rows": 0, "why": None}
    try:
        table = pa.Table.from_batches(read_piece(kind, piece, Conditions(), schema), schema)
    except KidxError as e:
        return told | {"why": shield(str(e))}
    digest = sha256(piece.path.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    name = f"entries/{kind}/{digest}.parquet"
    store.write_table(name, table)
    return told | {"parquet": name, "rows": table.num_rows}
