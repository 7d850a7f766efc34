"""Offsets that are missing: in logs and between segments of a partition that was not compacted, in KRaft snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kidx.checks.making import finding, limited
from kidx.checks.segment import SegmentChecked
from kidx.checks.stretch import Gap
from kidx.findings import Finding
from kidx.logdir.names import LOG, METADATA_SNAPSHOT


def missing_offsets(living: Iterable[SegmentChecked]) -> Iterator[Finding]:
    """Findings about the living segments, in order of their base offsets."""
    before: int | None = None
    for checked in living:
        log, path, base = checked.log, checked.segment.files[LOG].path, checked.segment.base_offset
        if before is not None and before < base:
            yield finding(
                "KX503",
                path,
                f"the segment begins with offset {base}; the one before it ends with {before - 1}",
                expected=before,
                found=base,
            )
        if log is None:
            before = None
            continue
        gaps = list(log.gaps)
        not_believed = log.not_believed
        if log.first_offset is not None and log.first_offset > base and 0 not in not_believed:
            gaps.insert(0, Gap(0, base, log.first_offset - 1))
        yield from limited(_missing(path, gap) for gap in gaps)
        end = base if log.last_offset is None else log.last_offset + 1
        before = end if log.whole and max(not_believed, default=-1) <= log.last_position else None


def missing_in_snapshots(segments: Iterable[SegmentChecked]) -> Iterator[Finding]:
    """Findings about KRaft's snapshots, whose records are numbered from 0 without a gap."""
    for checked in segments:
        log, file = checked.log, checked.segment.file(METADATA_SNAPSHOT)
        if log is None or file is None:
            continue
        gaps = list(log.gaps)
        if log.first_offset and 0 not in log.not_believed:
            gaps.insert(0, Gap(0, 0, log.first_offset - 1))
        yield from limited(_missing(file.path, gap) for gap in gaps)


def _missing(path: str, gap: Gap) -> Finding:
    count = gap.last - gap.first + 1
    what = f"offset {gap.first}" if count == 1 else f"offsets {gap.first} to {gap.last}"
    return finding(
        "KX306",
        path,
        f"{what} {'is' if count == 1 else 'are'} missing before the batch at byte {gap.position}",
        span=(gap.position, gap.position + 8),
        expected=gap.first,
        found=gap.last + 1,
    )
