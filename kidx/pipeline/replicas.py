"""Whether the replicas of a partition hold the same batches, and if not, from which offset on they differ.

Followers store the leader's batches byte for byte, but roll segments independently. So the comparison ignores segments:
each batch belongs, by its base offset, to a bucket of offsets, and each bucket has a sum over its batches. Replicas are
compared by bucket, then batch by batch in buckets that differ. Cleaned parts of compacted topics may differ between
healthy replicas; they are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kidx.checks.subjects.replicas import Divergence, HeldBatch
from kidx.errors import KidxError
from kidx.logdir.log_dir import CLEANED_TO, HIGH_WATERMARKS, LogDir, partition_identity
from kidx.logdir.names import LOG
from kidx.logdir.tree import Partition
from kidx.segments.scan import scan

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Ints, Window

BUCKET_OFFSETS = 1 << 16
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_COMPACTED_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")


class BucketSum(NamedTuple):
    """The batches whose base offset lies in one bucket: how many, and a 64-bit sum over offset, size, CRC and leader
    epoch of each.

    `first` and `last` are the least base offset and the greatest last offset among them.
    """

    bucket: int
    batches: int
    total: int
    first: int
    last: int


class Sums(NamedTuple):
    """A replica's bucket sums. `sparse`: offsets are missing within or between its batches, as after a cleaning."""

    buckets: list[BucketSum]
    sparse: bool


class ReplicaIdentity(NamedTuple):
    """What a log dir says of a replica in it; None where it says nothing. No cleaner has rewritten batches that begin
    at or after `cleaned_below`. `live_segments` have a log and are not marked as deleted.
    """

    cluster_id: str | None = None
    topic_id: str | None = None
    high_watermark: int | None = None
    stopped_cleanly: bool | None = None
    cleaned_below: int = 0
    live_segments: int = 0


class Suspicion(NamedTuple):
    """Where replicas may differ: buckets to compare batch by batch, within the offsets that all of them hold.

    These offsets are [start, end). `buckets` is empty if nothing differs.
    """

    start: int
    end: int
    buckets: list[int]


def bucket_sums(partition: Partition) -> Sums:
    """The sums of a partition's segments. A damaged log is read up to the damage, which the checks report."""
    import numpy as np

    sums: dict[int, list[int]] = {}
    sparse, previous = False, -1
    for _, window in _windows(partition):
        base, last = window.column("base_offset"), window.last_offset
        mixed = _mix(base, window.size, window.column("crc"), window.column("leader_epoch"))
        magic_2 = window.column("magic") >= 2
        sparse = sparse or bool((magic_2 & (window.column("record_count") != last - base + 1)).any())
        sparse = sparse or (previous >= 0 and int(base[0]) > previous + 1) or bool((base[1:] > last[:-1] + 1).any())
        previous = int(last[-1])
        buckets = base // BUCKET_OFFSETS
        for bucket in np.unique(buckets).tolist():
            own = buckets == bucket
            kept = sums.setdefault(bucket, [0, 0, int(base[own][0]), 0])
            kept[0] += int(own.sum())
            kept[1] = (kept[1] + int(mixed[own].sum(dtype=np.uint64))) % 2**64
            kept[2], kept[3] = min(kept[2], int(base[own].min())), max(kept[3], int(last[own].max()))
    return Sums([BucketSum(bucket, *kept) for bucket, kept in sorted(sums.items())], sparse)


def identity_of(partition: Partition, log_dir: LogDir | None, *, sparse: bool) -> ReplicaIdentity:
    """The identity of a replica in a log dir, None for a directory that lies in none. `sparse`: see Sums."""
    name = partition.name
    if name is None:
        return ReplicaIdentity()
    segments = partition.segments
    active_base = segments[-1].base_offset if segments else 0
    topic_id = partition_identity(partition).topic_id
    if log_dir is None:
        cleaned_below = active_base if sparse else 0
        return ReplicaIdentity(topic_id=topic_id, cleaned_below=cleaned_below, live_segments=len(segments))
    clean = partition.stopped_cleanly()
    cleaned_to = log_dir.checkpoint(CLEANED_TO).offsets.get(name[:2])
    if cleaned_to is not None:  # a broker that was killed may have cleaned further than its checkpoint says
        cleaned_below = cleaned_to if clean else max(cleaned_to, active_base)
    else:
        known = any(entry.name == CLEANED_TO for entry in log_dir.entries)
        cleaned_below = active_base if name.topic in _COMPACTED_TOPICS or (sparse and not known) else 0
    high_watermark = log_dir.checkpoint(HIGH_WATERMARKS).offsets.get(name[:2])
    cluster_id = log_dir.identity.cluster_id
    return ReplicaIdentity(cluster_id, topic_id, high_watermark, clean, cleaned_below, len(segments))


def suspicion(replicas: Mapping[str, Sequence[BucketSum]], cleaned_below: int = 0) -> Suspicion:
    """Compare replicas by their sums, from the latest start (or `cleaned_below`) to the earliest end.

    A bucket that a replica holds only in part, at its log's start or end, is suspect too if the sums differ.
    """
    filled = [sums for sums in replicas.values() if sums]
    if len(filled) < 2:
        return Suspicion(0, 0, [])
    start = max(cleaned_below, *(sums[0].first for sums in filled))
    end = min(sums[-1].last for sums in filled) + 1
    by_bucket = [{s.bucket: s for s in sums} for sums in filled]
    suspects = []
    for bucket in sorted(set().union(*by_bucket)):
        if (bucket + 1) * BUCKET_OFFSETS <= start or bucket * BUCKET_OFFSETS >= end:
            continue
        held = [sums.get(bucket) for sums in by_bucket]
        if any(s is None or held[0] is None or (s.batches, s.total) != (held[0].batches, held[0].total) for s in held):
            suspects.append(bucket)
    return Suspicion(start, end, suspects)


def find_divergence(directories: Sequence[str], suspects: Suspicion) -> Divergence | None:
    """The first difference between the replicas in these directories, by batch, in the suspect buckets."""
    partitions = {directory: Partition(directory) for directory in directories}
    for bucket in suspects.buckets:
        found = {d: batches_of_bucket(p, bucket, suspects.start, suspects.end) for d, p in partitions.items()}
        for offset in sorted(set().union(*found.values())):
            held = {d: batches.get(offset) for d, batches in found.items()}
            if len({batch and batch.content for batch in held.values()}) > 1:
                return Divergence(offset, held)
    return None


def batches_of_bucket(partition: Partition, bucket: int, start: int, end: int) -> dict[int, HeldBatch]:
    """The batches of the bucket that lie within the offsets [start, end), by base offset."""
    found: dict[int, HeldBatch] = {}
    for path, window in _windows(partition, bucket):
        base = window.column("base_offset")
        own = (base // BUCKET_OFFSETS == bucket) & (base >= start) & (window.last_offset < end)
        columns = (base, window.position, window.size, window.column("crc"), window.column("leader_epoch"))
        for offset, *rest in zip(*(column[own].tolist() for column in columns), strict=True):
            found[offset] = HeldBatch(path, *rest)
    return found


def _windows(partition: Partition, bucket: int | None = None) -> Iterator[tuple[str, Window]]:
    """The windows of all segments' logs with the log's path, or of those that may hold batches of the bucket."""
    segments = partition.segments
    for number, segment in enumerate(segments):
        if bucket is not None:
            following = segments[number + 1].base_offset if number + 1 < len(segments) else None
            ends_before = following is not None and following <= bucket * BUCKET_OFFSETS
            if ends_before or segment.base_offset >= (bucket + 1) * BUCKET_OFFSETS:
                continue
        try:
            with segment.files[LOG].open() as evidence:
                yield from ((evidence.path, window) for window in scan(evidence, check_crc=False) if len(window))
        except KidxError:
            continue


def _mix(base: Ints, size: Ints, crc: Ints, epoch: Ints) -> npt.NDArray[np.uint64]:
    """A hash of base offset, size, CRC and leader epoch: uint64, shape (batches,). Source: splitmix64's mixing."""
    import numpy as np

    first, second, third = (np.uint64(m) for m in _MIX)
    mixed = base.astype(np.uint64) * first
    mixed ^= (crc.astype(np.uint64) << np.uint64(32)) | size.astype(np.uint64)
    mixed ^= epoch.astype(np.uint64) * third
    mixed = (mixed ^ (mixed >> np.uint64(30))) * second
    return mixed ^ (mixed >> np.uint64(27))
