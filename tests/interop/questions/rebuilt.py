"""Indexes made anew from the log: byte for byte what LogSegment.recover writes."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.interop.lab import Program
from tests.interop.questions import Case, run

INDEXES = (".index", ".timeindex", ".txnindex")
_ROOM = 10485760


def rebuilt(case: Case) -> None:
    """Each segment alone, from its log and the snapshot at its start: as the topic has it, and in small indexes."""
    small = case.chance.choice((24, 36, 60, 120, 400))
    for interval, index_bytes in ((case.interval, _ROOM), (case.chance.choice((0, 100, 700)), small)):
        ours = case.scratch / f"rebuilt-{index_bytes}"
        sizes = ("--index-interval-bytes", interval, "--max-index-size", index_bytes)
        ran = run("rebuild", case.partition, "--output", ours, *sizes)
        refused = 0
        for log, *_ in case.files(".log"):
            theirs = _recovered(case, log, interval, index_bytes)
            refused += theirs is None
            for suffix in INDEXES:
                mine = ours / case.partition.name / (log.stem + suffix)
                asked = ("rebuild", *sizes, log.with_suffix(suffix))
                case.ledger.compare(
                    "rebuild", asked, _bytes(mine), "" if theirs is None else _bytes(theirs / mine.name)
                )
        case.ledger.compare("rebuild.refused", ("rebuild", case.partition, *sizes), ran.status == 3, refused > 0)


def _recovered(case: Case, log: Path, interval: int, index_bytes: int) -> Path | None:
    """A directory with the segment as Kafka recovers it; None where that fails, for an index is too small."""
    directory = case.scratch / f"recovered-{index_bytes}" / log.stem
    try:
        truncated = recovered(case.kafka, log, directory, interval, index_bytes)
    except RuntimeError as e:
        assert "full" in str(e), (log, e)
        return None
    case.ledger.compare("rebuild.truncated", ("recover", log), 0, truncated)
    return directory


def recovered(kafka: Program, log: Path, directory: Path, interval: int, index_bytes: int) -> int:
    """Let LogSegment.recover work on a copy of a segment in a new directory; the bytes that it cut off the log.

    Raises RuntimeError where it throws.
    """
    directory.mkdir(parents=True)
    for path in (log, log.with_suffix(".snapshot")):
        if path.exists():
            shutil.copy(path, directory)
    topic, _, number = log.parent.name.rpartition("-")
    (truncated,) = kafka.ask("recover", directory, int(log.stem), interval, index_bytes, topic, number)
    return int(truncated)


def _bytes(path: Path) -> str:
    """A file's bytes; an index that is not there is one without entries."""
    return path.read_bytes().hex() if path.exists() else ""
