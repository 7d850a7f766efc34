"""Index entries as Parquet, written by the tasks: passing them through the JVM would take six times as long.

Each index becomes a file entries/KIND/NAME.parquet below --out. The name is a digest of the path, so a task that is run
again replaces the same file. The table `entry_files` has a row for each file, by which the next scan writes only what
has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa

from kidx.errors import KidxError
from kidx.pipeline.filters import Conditions
from kidx.pipeline.frames import Row, TaskFunction, from_arrow_text, kept, map_rows, to_arrow_text
from kidx.pipeline.piece_batches import read_piece
from kidx.pipeline.pieces import GROUP_BYTES, Piece, find_pieces
from kidx.pipeline.schemas import INDEX_KINDS, schema_of
from kidx.pipeline.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENTRY_FILES = "entry_files"
WRITTEN = pa.schema(
    [
        ("path", pa.string()),  # the directory, absolute
        ("mark", pa.string()),  # the directory's: see listing.UNIT
        ("kind", pa.string()),
        ("file", pa.string()),
        ("parquet", pa.string()),  # its path below --out, null where the file could not be read
        ("rows", pa.int64()),
        ("why", pa.string()),
    ]
)


def write_entries(results: DataFrame, root: str, earlier: DataFrame | None, tasks: int) -> DataFrame:
    """Write the entries of all indexes in the directories of `results` (rows of RESULT) in tasks, below `root`.

    A row of WRITTEN for each file. Directories whose mark is that of `earlier` rows, all of them written, are skipped.
    """
    from pyspark.sql import functions as f

    directories = results.where("segments > 0").select("path", "mark")
    if earlier is None:
        return kept(map_rows(directories.repartition(tasks, "path"), WriteEntries(root)))
    failed = earlier.where(f.col("parquet").isNull()).select("path")
    valid = earlier.join(failed, "path", "left_anti").join(directories, ["path", "mark"], "left_semi")
    changed = directories.join(valid.select("path").distinct(), "path", "left_anti")
    written = kept(map_rows(changed.repartition(tasks, "path"), WriteEntries(root)).unionByName(valid))
    gone = earlier.select("parquet").join(written.select("parquet"), "parquet", "left_anti")
    map_rows(gone, DeleteFiles(root)).collect()
    return written


class WriteEntries(TaskFunction):
    """Directories in, rows of WRITTEN out."""

    def __init__(self, root: str) -> None:
        super().__init__(WRITTEN)
        self.root = root

    def rows(self, sent: Iterator[Row]) -> Iterator[Row]:
        store = Store(self.root)
        for row in sent:
            for kind in INDEX_KINDS:
                for piece in _pieces(kind, from_arrow_text(row["path"])):
                    yield row | _written(store, kind, piece)


class DeleteFiles(TaskFunction):
    """Deletes files below a root, by name."""

    def __init__(self, root: str) -> None:
        super().__init__(pa.schema([("parquet", pa.string())]))
        self.root = root

    def rows(self, sent: Iterator[Row]) -> Iterator[Row]:
        store = Store(self.root)
        for row in sent:
            store.delete(row["parquet"])
        return iter(())


def _pieces(kind: str, directory: str) -> list[Piece]:
    """The pieces of one kind in a directory, without those in directories below, which are listed themselves."""
    try:
        pieces = find_pieces(kind, [directory], Conditions(), GROUP_BYTES)
    except KidxError:  # the checks report that it cannot be listed
        return []
    return [piece for piece in pieces if piece.path.rpartition("/")[0] == directory]


def _written(store: Store, kind: str, piece: Piece) -> Row:
    """Write one piece's rows as a Parquet file."""
    schema = schema_of(kind)
    row: Row = {"kind": kind, "file": to_arrow_text(piece.path), "parquet": None, "rows": 0, "why": None}
    try:
        table = pa.Table.from_batches(read_piece(kind, piece, Conditions(), schema), schema)
    except KidxError as e:
        return row | {"why": to_arrow_text(str(e))}
    digest = sha256(piece.path.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    name = f"entries/{kind}/{digest}.parquet"
    store.write_table(name, table)
    return row | {"parquet": name, "rows": table.num_rows}
