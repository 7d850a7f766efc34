"""What compaction would save: one full pass of the cleaner over each data partition of a fleet.

Full means: with an offset map that holds all keys of the cleanable part. Three steps run on Spark. Tasks read the dirty
part and return each key's digest with its first and latest offset. DataFrames aggregate these by partition (groupBy,
min, max). A task then reads the log again and decides about each record as kidx.cleaner does, with
those latest offsets. Neither keys nor records pass through the JVM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from kidx.cleaner.digests import digest_named
from kidx.cleaner.dirty_range import CHECKPOINT, dirty_range
from kidx.cleaner.map_filling import dirty_keys, dirty_segments
from kidx.cleaner.plan import CleanerOptions, Pass
from kidx.cleaner.retention import DROPPED
from kidx.errors import KidxError
from kidx.logdir.tree import Partition
from kidx.lookup.partition import PartitionReader
from kidx.pipeline.fleet_compaction import COMPACTION, compaction_row
from kidx.pipeline.frames import Row, from_arrow_text, spark_schema
from kidx.pipeline.latest_offsets import DIGEST, LatestOffsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEYS_AT_ONCE = 1 << 17  # distinct keys that a task holds before it returns them
_NOT_DATA = ("__cluster_metadata",)  # the quorum's log, which snapshots clean
_KEY = pa.schema([("path", pa.string()), ("digest", pa.binary()), ("first", pa.int64()), ("latest", pa.int64())])


def judge_compaction(results: DataFrame, tasks: int, now_ms: int) -> DataFrame:
    """A row of COMPACTION for each partition that a cleaner could clean: the result of a full pass at `now_ms`.

    `results` are rows of RESULT. Both steps run in `tasks` tasks.
    """
    from pyspark.sql import functions as f

    data = results.where(f.col("topic").isNotNull() & ~f.col("topic").isin(*_NOT_DATA) & (f.col("segments") > 0))
    place = f.col("cluster_id").alias("cluster"), "broker", "topic", "partition"
    sent = data.select("path", *place, f.lit(now_ms).alias("now_ms")).repartition(tasks, "path")
    keys = sent.mapInArrow(read_keys, spark_schema(_KEY)).repartition(tasks, "path")
    distinct = keys.groupBy("path", "digest").agg(f.min("first").alias("first"), f.max("latest").alias("latest"))
    together = sent.groupBy("path").cogroup(distinct.groupBy("path"))
    return together.applyInArrow(_judge_group, spark_schema(COMPACTION))


def read_keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for mapInArrow: units in, digests with first and latest offset out, _KEYS_AT_ONCE at a time."""
    digest = digest_named(DIGEST)
    for batch in batches:
        for row in batch.to_pylist():
            held: dict[bytes, list[int]] = {}
            try:
                reader = PartitionReader(Partition(from_arrow_text(row["path"])))
                for key, offset in dirty_keys(reader, dirty_range(reader, 0, row["now_ms"])):
                    known = held.setdefault(digest.one(key), [offset, offset])
                    known[1] = offset
                    if len(held) >= _KEYS_AT_ONCE:
                        yield _keys(row["path"], held)
                        held = {}
            except KidxError:  # the second step reports why
                continue
            yield _keys(row["path"], held)


def _keys(path: str, held: dict[bytes, list[int]]) -> pa.RecordBatch:
    first, latest = zip(*held.values(), strict=True) if held else ((), ())
    return pa.RecordBatch.from_pydict(
        {"path": [path] * len(held), "digest": list(held), "first": first, "latest": latest}, schema=_KEY
    )


def _judge_group(units: pa.Table, keys: pa.Table) -> pa.Table:
    """The function for applyInArrow: one unit and its keys in, its row of COMPACTION out."""
    (unit,) = units.to_pylist()
    judged = judge(from_arrow_text(unit["path"]), keys, unit["now_ms"])
    place = {name: unit[name] for name in ("cluster", "broker", "topic", "partition")}
    rows = [] if judged is None else [compaction_row(place | judged)]
    return pa.Table.from_pylist(rows, schema=COMPACTION)


def judge(directory: str, keys: pa.Table, now_ms: int) -> Row | None:
    """The result of a full pass over a partition whose dirty part has these keys (digest, first, latest).

    `ends_new` is whether the last keyed record is the first one with its key. `why_not` is None, or the reason why the
    cleaner would fail on this log; then all else is None. Returns None for a directory without a log.
    """
    try:
        partition = Partition(directory)
        if not partition.segments:
            return None
        reader = PartitionReader(partition)
        before = sum(segment.files["log"].size() for segment in reader.segments)
        dirty = dirty_range(reader, 0, now_ms)
        latest = LatestOffsets(keys["digest"], keys["latest"], -1)
        if dirty_segments(reader, dirty):
            latest.latest_offset = dirty.first_uncleanable - 1
        counts: Counter[str] = Counter()
        dropped: Counter[str] = Counter()
        for segment in Pass(reader, CleanerOptions(now_ms=now_ms), dirty, latest).segments():
            counts.update(records=segment.records, kept=segment.kept, bytes_after=segment.bytes_after)
            dropped.update(segment.dropped)
    except KidxError as e:
        return _not_judged(str(e))
    except Exception as e:
        return _not_judged(f"{directory}: a bug in kidx itself: {type(e).__name__}: {e}")
    return {
        "first_dirty": dirty.first_dirty,
        "first_uncleanable": dirty.first_uncleanable,
        "checkpointed": reader.checkpointed(CHECKPOINT) is not None,
        "records": counts["records"],
        "kept": counts["kept"],
        "dropped": {why: dropped[why] for why in DROPPED},
        "bytes_before": before,
        "bytes_after": counts["bytes_after"],
        "distinct_keys": keys.num_rows,
        "ends_new": _ends_new(keys),
        "why_not": None,
    }


def _ends_new(keys: pa.Table) -> bool:
    if not keys.num_rows:
        return False
    last = max(range(keys.num_rows), key=keys["latest"].to_numpy().__getitem__)
    return bool(keys["first"][last] == keys["latest"][last])


def _not_judged(why: str) -> Row:
    return dict.fromkeys(COMPACTION.names[4:-1]) | {"ends_new": None, "why_not": why}
