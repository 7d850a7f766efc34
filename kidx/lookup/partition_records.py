"""A partition's records: one after another, or as Arrow batches (with pyarrow)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kidx.logdir.names import LOG

if TYPE_CHECKING:
    import pyarrow as pa

    from kidx.formats.records import Record
    from kidx.lookup.partition import PartitionReader
    from kidx.segments.column_reader import DamagedRange, Wanted


class Damaged(NamedTuple):
    """A log file, and bytes of it that gave no records."""

    path: str
    range: DamagedRange


class PartitionRecords:
    """The records of a partition, control records among them: an iterable of Record, or Arrow by the methods below.

    Reading as Arrow goes on with the next whole batch after damage, and leaves out batches with wrong CRCs; `damaged`
    lists such bytes once the batches have been read.
    """

    def __init__(self, reader: PartitionReader, wanted: Wanted, columns: Sequence[str] | None) -> None:
        self._reader, self._wanted, self._columns = reader, wanted, columns
        self.damaged: list[Damaged] = []

    def __iter__(self) -> Iterator[Record]:
        (first, last), (since, until) = self._wanted.offsets, self._wanted.timestamps
        for record in self._reader.each_record(first):
            if last is not None and record.offset > last:
                return
            if (since is None or record.timestamp >= since) and (until is None or record.timestamp <= until):
                yield record

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of Arrow batches of bounded size, for DuckDB, Polars, pandas and Parquet.

        The columns are those of kidx.segments.arrow_records. Raises UsageError without pyarrow, or for a column that
        records do not have; reading raises CannotRead.
        """
        from kidx.segments.arrow_records import arrow, record_schema

        schema = record_schema(self._columns)
        return arrow().RecordBatchReader.from_batches(schema, self._batches(schema))

    def to_arrow(self) -> pa.Table:
        """All records as an Arrow table, in memory. Raises as `to_reader`."""
        return self.to_reader().read_all()

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        from kidx.segments.arrow_records import record_batch
        from kidx.segments.column_reader import LogIndexes, read_columns

        reader, name = self._reader, self._reader.partition.name
        topic, partition = (None, None) if name is None else (name.topic, name.partition)
        first, last = self._wanted.offsets
        following = reader.start_offset if first is None else first
        self.damaged = []
        for segment in reader.segments_from(reader.segment_for(following)):
            if last is not None and segment.base_offset > last:
                break
            path = segment.files[LOG].path
            with segment.files[LOG].open() as log:
                wanted = self._wanted._replace(offsets=(following, last))  # segments may overlap
                blocks = read_columns(log, LogIndexes.next_to(path), wanted)
                for block in blocks:
                    following = max(following, int(block.offset.max()) + 1)
                    yield record_batch(block, schema, topic=topic, partition=partition, segment=segment.base_offset)
                self.damaged += [Damaged(path, damage) for damage in blocks.damage]
