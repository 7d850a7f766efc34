"""What compaction would save: one full pass of the cleaner over each data partition of a fleet.

Full means: with an offset map that holds all keys of the cleanable part. Three steps run on Spark. Tasks read the dirty
part and return each key's digest with its first and latest offset. DataFrames aggregate these by partition (groupBy,
min, max). A task for each partition then reads the log again and decides about each record as kidx.cleaner does, with
those latest offsets. Neither keys nor records pass through the JVM.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from kidx.cleaner.digests import digest_named
from kidx.cleaner.dirty_range import CHECKPOINT, dirty_range
from kidx.cleaner.map_filling import dirty_keys, dirty_segments
from kidx.cleaner.plan import CleanerOptions, Pass
from kidx.cleaner.retention import DROPPED
from kidx.errors import KidxError
from kidx.evidence import absolute
from kidx.logdir.tree import Partition
from kidx.lookup.partition import PartitionReader
from kidx.pipeline.inventory import Unit, pack
from kidx.pipeline.latest_offsets import DIGEST, LatestOffsets
from kidx.pipeline.results import Row, from_arrow_text, to_arrow_text
from kidx.pipeline.waves import GROUP_BYTES, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEYS_AT_ONCE = 1 << 17  # distinct keys that a task holds before it returns them
_NOT_DATA = ("__cluster_metadata",)  # the quorum's log, which snapshots clean
_UNIT = pa.schema([("group", pa.int32()), ("unit", pa.int32()), ("directory", pa.string()), ("now_ms", pa.int64())])
_KEY = pa.schema([("unit", pa.int32()), ("digest", pa.binary()), ("first", pa.int64()), ("latest", pa.int64())])
_JUDGEMENT = (
    *("first_dirty", "first_uncleanable", "checkpointed", "records", "kept", "dropped"),
    *("bytes_before", "bytes_after", "distinct_keys", "ends_new"),
)
_JUDGED = pa.schema([("unit", pa.int32()), ("judged", pa.string())])


def compactable(units: Iterable[Unit]) -> list[Unit]:
    """The units that a cleaner could clean: complete partition directories of data topics."""
    return [u for u in units if u.target.names is None and u.place.topic and u.place.topic not in _NOT_DATA]


def judge_compaction(session: Callable[[], SparkSession], units: Iterable[Unit], now_ms: int) -> list[Row]:
    """The result of a full pass at `now_ms` over each compactable unit, in order: its place and `judge`'s row."""
    wanted = compactable(units)
    if not wanted:
        return []
    groups = pack([unit.cost for unit in wanted], GROUP_BYTES)
    requests = [
        {"group": group, "unit": number, "directory": to_arrow_text(absolute(unit.target.directory)), "now_ms": now_ms}
        for number, (unit, group) in enumerate(zip(wanted, groups, strict=True))
    ]
    rows = _on_spark(session(), requests, max(groups) + 1)
    judged = {row["unit"]: json.loads(row["judged"]) for row in rows}
    return [
        {"broker": unit.place.broker, "topic": unit.place.topic, "partition": unit.place.partition} | judged[number]
        for number, unit in enumerate(wanted)
        if judged[number] is not None
    ]


def _on_spark(spark: SparkSession, requests: list[Row], groups: int) -> list[Row]:
    from pyspark.sql import functions as f

    sent = spark.createDataFrame(pa.Table.from_pylist(requests, schema=_UNIT))
    keys = sent.repartitionById(groups, "group").mapInArrow(read_keys, spark_schema(_KEY))
    distinct = keys.groupBy("unit", "digest").agg(f.min("first").alias("first"), f.max("latest").alias("latest"))
    together = sent.groupBy("unit").cogroup(distinct.groupBy("unit"))
    rows: list[Row] = together.applyInArrow(_judge_group, spark_schema(_JUDGED)).toArrow().to_pylist()
    return rows


def read_keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for mapInArrow: units in, digests with first and latest offset out, _KEYS_AT_ONCE at a time."""
    digest = digest_named(DIGEST)
    for batch in batches:
        for row in batch.to_pylist():
            held: dict[bytes, list[int]] = {}
            try:
                reader = PartitionReader(Partition(from_arrow_text(row["directory"])))
                for key, offset in dirty_keys(reader, dirty_range(reader, 0, row["now_ms"])):
                    known = held.setdefault(digest.one(key), [offset, offset])
                    known[1] = offset
                    if len(held) >= _KEYS_AT_ONCE:
                        yield _keys(row["unit"], held)
                        held = {}
            except KidxError:  # the second step reports why
                continue
            yield _keys(row["unit"], held)


def _keys(unit: int, held: dict[bytes, list[int]]) -> pa.RecordBatch:
    first, latest = zip(*held.values(), strict=True) if held else ((), ())
    return pa.RecordBatch.from_pydict(
        {"unit": [unit] * len(held), "digest": list(held), "first": first, "latest": latest}, schema=_KEY
    )


def _judge_group(units: pa.Table, keys: pa.Table) -> pa.Table:
    """The function for applyInArrow: one unit and its keys in, `judge`'s row out, as JSON."""
    (unit,) = units.to_pylist()
    judged = judge(from_arrow_text(unit["directory"]), keys, unit["now_ms"])
    return pa.Table.from_pylist([{"unit": unit["unit"], "judged": json.dumps(judged)}], schema=_JUDGED)


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
    return dict.fromkeys(_JUDGEMENT) | {"why_not": why}
