"""The tables about compaction, by partition, topic and broker, from the result of a full pass over each partition.

Files do not say which topics have cleanup.policy=compact, so every data topic is treated as if it had. A line for the
partition in the cleaner's checkpoint (`checkpointed`) shows that it was compacted at some time. Records without keys
show that it cannot be: a broker refuses them for a compacted topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kidx.cleaner.digests import digest_named
from kidx.cleaner.map_sizing import expected_collision_rate, need_for, smallest_buffer
from kidx.cleaner.offset_map import OFFSET_BYTES
from kidx.cleaner.plan import CleanerOptions
from kidx.cleaner.retention import DROPPED
from kidx.pipeline.frames import Row
from kidx.pipeline.latest_offsets import DIGEST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_INT, _TEXT = pa.int64(), pa.string()
_NEEDS = ("smallest_dedupe_buffer_bytes", "one_pass_is_enough", "expected_collision_rate")
_SUMMED = ("records", "kept", "keyless", "distinct_keys", "bytes_before", "bytes_after", "bytes_saved")
COMPACTION = pa.schema(
    [
        *((name, _TEXT) for name in ("cluster", "broker", "topic")),
        ("partition", pa.int32()),
        ("first_dirty", _INT),
        ("first_uncleanable", _INT),
        ("checkpointed", pa.bool_()),
        ("records", _INT),
        ("kept", _INT),
        ("dropped", pa.struct([(why, _INT) for why in DROPPED])),
        *((name, _INT) for name in ("bytes_before", "bytes_after", "distinct_keys", "keyless", "bytes_saved")),
        (_NEEDS[0], _INT),
        (_NEEDS[1], pa.bool_()),
        (_NEEDS[2], pa.float64()),
        ("why_not", _TEXT),
    ]
)
_SUMS = [("partitions", _INT), ("not_judged", _INT), ("checkpointed", pa.bool_()), *((name, _INT) for name in _SUMMED)]
COMPACTION_TOPICS = pa.schema([("cluster", _TEXT), ("topic", _TEXT), *_SUMS])
CLEANERS = pa.schema(
    [("cluster", _TEXT), ("broker", _TEXT), *_SUMS, (_NEEDS[0], _INT), (_NEEDS[2], pa.float64()), ("neediest", _TEXT)]
)


def compaction_row(judged: Row) -> Row:
    """A row of COMPACTION: the bytes saved, and the memory that one pass needs with one cleaner thread.

    `judged` is the partition's place and the row of `kidx.pipeline.compaction.judge`.
    """
    options, digest = CleanerOptions(), digest_named(DIGEST)
    row = dict(judged)
    keys, ends_new, why_not = row["distinct_keys"], row.pop("ends_new"), row.pop("why_not")
    if why_not is not None:
        return row | dict.fromkeys(("keyless", "bytes_saved", *_NEEDS)) | {"why_not": why_not}
    need = need_for(keys, ends_new=ends_new)
    buffer = smallest_buffer(need.entries, digest, options.load_factor, options.threads)
    slots = buffer // (digest.size + OFFSET_BYTES)
    return row | {
        "keyless": row["dropped"]["keyless"],
        "bytes_saved": row["bytes_before"] - row["bytes_after"],
        "smallest_dedupe_buffer_bytes": buffer,
        "one_pass_is_enough": buffer <= options.dedupe_buffer_bytes,
        "expected_collision_rate": round(expected_collision_rate(keys, slots), 4),
        "why_not": None,
    }


def compaction_tables(partitions: DataFrame) -> dict[str, DataFrame]:
    """The tables `compaction`, `compaction_topics` and `cleaners` from rows of COMPACTION.

    `cleaners` has the smallest buffer that cleans each of a broker's partitions in one pass: the one that `neediest`
    requires.
    """
    from pyspark.sql import functions as f

    def summed(by: str, *more: Any) -> DataFrame:
        return partitions.groupBy("cluster", by).agg(
            f.count(f.lit(1)).alias("partitions"),
            f.count("why_not").alias("not_judged"),
            f.coalesce(f.bool_or("checkpointed"), f.lit(False)).alias("checkpointed"),
            *(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in _SUMMED),
            *more,
        )

    buffer = "smallest_dedupe_buffer_bytes"
    name = f.concat_ws("-", "topic", "partition")
    neediest = f.max_by(name, buffer).alias("neediest"), f.max_by(_NEEDS[2], buffer).alias(_NEEDS[2])
    return {
        "compaction": partitions,
        "compaction_topics": summed("topic"),
        "cleaners": summed("broker", f.max(buffer).alias(buffer), *neediest),
    }
