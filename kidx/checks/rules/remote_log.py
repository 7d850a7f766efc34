"""A partition's local log against its tier: offsets in neither, segments that were not copied, what goes next."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.checks.rule import check
from kidx.checks.subjects.remote import ReconciledPartition
from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule
from kidx.text.quantities import counted, iso_time, size_text

_LATE_MS = 3_600_000

OFFSETS_NOWHERE = Rule(
    code="KX717",
    name="offsets-in-no-tier",
    severity=ERROR,
    title="Offsets of a partition are neither in the local log nor in the tier",
    broker=(
        "A fetch of these offsets gets OFFSET_OUT_OF_RANGE from a broker (3.9, 4.3): by auto.offset.reset, consumers "
        "jump over them, or to the start."
    ),
    story=(
        "From the log start offset on, every offset is in the local log or in a copy that is finished and belongs to "
        "the log's leader epochs. A local segment was removed that had not been copied, a copy was deleted, "
        "leader-epoch-checkpoint lost lines, or __remote_log_metadata lost records. Look for the range in other "
        "replicas, and in the tier among copies that the metadata does not list (KX715)."
    ),
)

NOT_COPIED = Rule(
    code="KX718",
    name="segment-not-copied",
    severity=WARNING,
    title="A closed local segment should have been copied to the tier",
    broker=(
        "The leader copies closed segments that end before the last stable offset, in order. It does not delete them "
        "locally before they are copied, so the disk fills up."
    ),
    story=(
        "Copies hang where the plugin or the store fails, or the metadata topic cannot be written. A segment that "
        "waits for its turn is a note; one that was closed more than an hour before the newest copy in the tier, or "
        "that lies before offsets that are copied, is a warning."
    ),
)

RETENTION_NEXT = Rule(
    code="KX719",
    name="remote-retention-next",
    severity=NOTE,
    title="The segment that retention removes from the tier next",
    broker=(
        "The leader deletes the oldest copy when its largest timestamp is older than retention.ms, or when both tiers "
        "together exceed retention.bytes without it (4.3, by its source)."
    ),
    story=(
        "Not a fault. retention.ms and retention.bytes are those of the cluster's metadata; settings in "
        "server.properties are not known."
    ),
)


@check(ReconciledPartition, OFFSETS_NOWHERE)
def offsets_nowhere(partition: ReconciledPartition) -> Iterator[Finding]:
    """Ranges that nothing serves."""
    for first, last in partition.missing:
        what = f"offset {first} is" if first == last else f"offsets {first} to {last} are"
        said = f"{what} neither in the local log, which starts at {partition.log.local_start}, nor in the tier"
        yield OFFSETS_NOWHERE.finding(partition.directory, said, expected=first, found=last + 1)


@check(ReconciledPartition, NOT_COPIED)
def not_copied(partition: ReconciledPartition) -> Iterator[Finding]:
    """Closed segments that no finished copy holds."""
    highest = partition.log.highest_remote
    for segment in partition.not_copied:
        late = partition.newest_copy_ms - segment.closed_ms > _LATE_MS
        passed = segment.end <= highest
        said = f"offsets {segment.base_offset} to {segment.end} ({size_text(segment.bytes)}) are not in the tier"
        if passed:
            said += f", which has later ones up to {highest}"
        elif late:
            said += f"; the segment was closed at {iso_time(segment.closed_ms)}, others were copied since"
        yield NOT_COPIED.finding(segment.path, said, found=segment.bytes, severity=None if late or passed else NOTE)


@check(ReconciledPartition, RETENTION_NEXT)
def retention_next(partition: ReconciledPartition) -> list[Finding] | None:
    """The oldest copy that serves offsets, and when it goes."""
    log = partition.log
    oldest = next((log.facts[s.segment_id] for s in log.served if s.segment_id in log.facts), None)
    if oldest is None:
        return None
    told = []
    if partition.retention_ms is not None and partition.retention_ms >= 0 and oldest.max_timestamp >= 0:
        at = oldest.max_timestamp + partition.retention_ms
        told.append(f"after {iso_time(at)} (retention.ms {partition.retention_ms})")
    if partition.retention_bytes is not None and partition.retention_bytes >= 0:
        total = sum(partition.sizes.values()) + partition.only_local_bytes
        room = partition.retention_bytes + partition.sizes.get(oldest.segment_id, 0) - total
        when = f"when {size_text(room)} more are written" if room > 0 else "now"
        told.append(f"{when} (retention.bytes {partition.retention_bytes}, {size_text(total)} in both tiers)")
    if not told:
        return None
    said = f"segment {oldest.segment_id}, offsets {oldest.start} to {oldest.end}, is removed next: {' or '.join(told)}"
    left = counted(len(partition.sizes) - 1, "copy", "copies")
    return [RETENTION_NEXT.finding(partition.directory, f"{said}; {left} remain", found=oldest.segment_id)]
