"""The tables about compaction, by partition, topic and broker, from the result of a full pass over each partition.

Files do not say which topics have cleanup.policy=compact, so every data topic is treated as if it had. A line for the
partition in the cleaner's checkpoint (`checkpointed`) shows that it was compacted at some time. Records without keys
show that it cannot be: a broker refuses them for a compacted topic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kidx.cleaner.digests import digest_named
from kidx.cleaner.map_sizing import expected_collision_rate, need_for, smallest_buffer
from kidx.cleaner.offset_map import OFFSET_BYTES
from kidx.cleaner.plan import CleanerOptions
from kidx.pipeline.latest_offsets import DIGEST
from kidx.pipeline.results import Row

_NEEDS = ("smallest_dedupe_buffer_bytes", "one_pass_is_enough", "expected_collision_rate")


def compaction_tables(judged: Iterable[Row]) -> dict[str, list[Row]]:
    """The tables `compaction`, `compaction_topics` and `cleaners` from the rows of judge_compaction."""
    partitions = [_partition(row) for row in judged]
    return {
        "compaction": partitions,
        "compaction_topics": sorted(
            (_sums(partitions, "topic", topic) for topic in {row["topic"] for row in partitions}),
            key=lambda row: (-row["bytes_saved"], row["topic"]),
        ),
        "cleaners": [
            _sums(partitions, "broker", broker) | _buffer_of(partitions, broker)
            for broker in sorted({row["broker"] for row in partitions})
        ],
    }


def _partition(judged: Row) -> Row:
    """A partition's row: the bytes saved, and the memory that one pass needs with one cleaner thread."""
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


def _sums(partitions: list[Row], by: str, name: str) -> Row:
    own = [row for row in partitions if row[by] == name]
    judged = [row for row in own if row["why_not"] is None]
    sums: dict[str, int] = defaultdict(int)
    for row in judged:
        for field in ("records", "kept", "keyless", "distinct_keys", "bytes_before", "bytes_after", "bytes_saved"):
            sums[field] += row[field]
    return {
        by: name,
        "partitions": len(own),
        "not_judged": len(own) - len(judged),
        "checkpointed": any(row["checkpointed"] for row in judged),
        **{field: sums[field] for field in ("records", "kept", "keyless", "distinct_keys")},
        **{field: sums[field] for field in ("bytes_before", "bytes_after", "bytes_saved")},
    }


def _buffer_of(partitions: list[Row], broker: str) -> Row:
    """The smallest buffer that cleans each of a broker's partitions in one pass: the one that `neediest` requires."""
    own = [row for row in partitions if row["broker"] == broker and row["why_not"] is None]
    neediest = max(own, key=lambda row: int(row["smallest_dedupe_buffer_bytes"]), default=None)
    if neediest is None:
        return {"smallest_dedupe_buffer_bytes": None, "expected_collision_rate": None, "neediest": None}
    return {
        **{name: neediest[name] for name in ("smallest_dedupe_buffer_bytes", "expected_collision_rate")},
        "neediest": f"{neediest['topic']}-{neediest['partition']}",
    }
