"""Index entries as Parquet, written by the tasks themselves: through the JVM they would take six times as long.

Each piece becomes a file entries/KIND/NAME.parquet below --out; the name is a digest of the piece, so that a task that
is run again writes the same file, and a passing name keeps half a file from ever being seen. What comes back is a row
for each file: entries.parquet, the manifest of the entries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa

from kidx.errors import KidxError
from kidx.evidence import absolute
from kidx.pipeline.filters import Conditions
from kidx.pipeline.inventory import Unit
from kidx.pipeline.pieces import Piece, find_pieces, packed
from kidx.pipeline.results import shield, unshield
from kidx.pipeline.rows import read_piece
from kidx.pipeline.schemas import INDEX_KINDS, schema_of
from kidx.pipeline.store import Store
from kidx.pipeline.waves import GROUP_BYTES, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ASKED = pa.schema([("group", pa.int32()), ("kind", pa.string()), ("piece", pa.string())])
WRITTEN = pa.schema(
    [
        ("kind", pa.string()),
        ("file", pa.string()),
        ("parquet", pa.string()),  # its path below --out, null where the file could not be read
        ("rows", pa.int64()),
        ("why", pa.string()),
    ]
)


def write_entries(spark: SparkSession, units: Iterable[Unit], out: str) -> pa.Table:
    """Write the entries of all indexes of whole-directory units; the manifest, a row of WRITTEN for each file."""
    directories = [absolute(unit.target.directory) for unit in units if unit.target.names is None]
    groups = [(kind, group) for kind in INDEX_KINDS for group in packed(_pieces(kind, directories), GROUP_BYTES)]
    if not groups:
        return WRITTEN.empty_table()
    rows = [
        {"group": number, "kind": kind, "piece": _said(piece)}
        for number, (kind, group) in enumerate(groups)
        for piece in group
    ]
    sent = spark.createDataFrame(pa.Table.from_pylist(rows, schema=_ASKED))
    placed = sent.repartitionById(len(groups), "group")
    return placed.mapInArrow(_Writer(out), spark_schema(WRITTEN)).toArrow().sort_by("file")


def _pieces(kind: str, directories: Sequence[str]) -> list[Piece]:
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
            rows = [write_piece(store, row["kind"], _piece(row["piece"])) for row in batch.to_pylist()]
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
