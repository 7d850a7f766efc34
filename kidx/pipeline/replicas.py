"""Whether the replicas of a partition hold the same batches, and if not, from which offset on they differ.

Followers store the leader's batches byte for byte, but roll segments independently. So the comparison ignores segments:
each batch belongs, by its base offset, to a bucket of offsets, and each bucket has a sum over its batches. Replicas are
compared by bucket, then batch by batch in buckets that differ. Cleaned parts of compacted topics may differ between
healthy replicas; they are not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kidx.errors import KidxError
from kidx.logdir.names import LOG
from kidx.logdir.tree import Partition
from kidx.segments.scan import scan

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Ints, Window

BUCKET_OFFSETS = 1 << 16
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)


class BucketSum(NamedTuple):
    """The batches whose base offset lies in one bucket: how many, and a 64-bit sum over offset, size and CRC of each.

    `first` and `last` are the least base offset and the greatest last offset among them.
    """

    bucket: int
    batches: int
    total: int
    first: int
    last: int


class Suspicion(NamedTuple):
    """Where replicas may differ: buckets to compare batch by batch, within the offsets that all of them hold.

    These offsets are [start, end). `buckets` is empty if nothing differs.
    """

    start: int
    end: int
    buckets: list[int]


class Divergence(NamedTuple):
    """The first offset at which replicas differ, and what each holds there: size and CRC of a batch, or None."""

    offset: int
    held: dict[str, tuple[int, int] | None]

    def differing(self) -> list[str]:
        """The replicas that differ from the majority; all of them if there is no majority."""
        counted = Counter(self.held.values())
        usual = max(counted.values())
        most = [value for value, count in counted.items() if count == usual]
        return sorted(name for name, value in self.held.items() if len(most) > 1 or value != most[0])


def bucket_sums(partition: Partition) -> list[BucketSum]:
    """The sums of a partition's segments. A damaged log is read up to the damage, which the checks report."""
    import numpy as np

    sums: dict[int, list[int]] = {}
    for window in _windows(partition):
        base, last = window.column("base_offset"), window.last_offset
        mixed = _mix(base, window.size, window.column("crc"))
        buckets = base // BUCKET_OFFSETS
        for bucket in np.unique(buckets).tolist():
            own = buckets == bucket
            kept = sums.setdefault(bucket, [0, 0, int(base[own][0]), 0])
            kept[0] += int(own.sum())
            kept[1] = (kept[1] + int(mixed[own].sum(dtype=np.uint64))) % 2**64
            kept[2], kept[3] = min(kept[2], int(base[own].min())), max(kept[3], int(last[own].max()))
    return [BucketSum(bucket, *kept) for bucket, kept in sorted(sums.items())]


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
            if len(set(held.values())) > 1:
                return Divergence(offset, held)
    return None


def batches_of_bucket(partition: Partition, bucket: int, start: int, end: int) -> dict[int, tuple[int, int]]:
    """Size and CRC, by base offset, of each batch of the bucket that lies within the offsets [start, end)."""
    found: dict[int, tuple[int, int]] = {}
    for window in _windows(partition, bucket):
        base = window.column("base_offset")
        own = (base // BUCKET_OFFSETS == bucket) & (base >= start) & (window.last_offset < end)
        rows = zip(base[own].tolist(), window.size[own].tolist(), window.column("crc")[own].tolist(), strict=True)
        found.update((offset, (size, crc)) for offset, size, crc in rows)
    return found


def _windows(partition: Partition, bucket: int | None = None) -> Iterator[Window]:
    """The windows of all segments, or of those that may hold batches of the bucket."""
    segments = partition.segments
    for number, segment in enumerate(segments):
        if bucket is not None:
            following = segments[number + 1].base_offset if number + 1 < len(segments) else None
            ends_before = following is not None and following <= bucket * BUCKET_OFFSETS
            if ends_before or segment.base_offset >= (bucket + 1) * BUCKET_OFFSETS:
                continue
        try:
            with segment.files[LOG].open() as evidence:
                yield from scan(evidence, check_crc=False)
        except KidxError:
            continue


def _mix(base: Ints, size: Ints, crc: Ints) -> npt.NDArray[np.uint64]:
    """A hash of base offset, size and CRC: uint64, shape (batches,). Source: the mixing steps of splitmix64."""
    import numpy as np

    first, second = (np.uint64(m) for m in _MIX)
    mixed = base.astype(np.uint64) * first
    mixed ^= (crc.astype(np.uint64) << np.uint64(32)) | size.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * second
    return mixed ^ (mixed >> np.uint64(27))
