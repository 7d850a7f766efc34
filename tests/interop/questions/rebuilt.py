"""Indexes made anew from the log: byte for byte what LogSegment.recover writes."""

from __future__ import annotations

import shutil

from tests.interop.questions import Case, run

_INDEXES = (".index", ".timeindex", ".txnindex")


def rebuilt(case: Case) -> None:
    """Each segment alone, from its log and the snapshot at its start, at the topic's interval and at another."""
    topic, _, number = case.partition.name.rpartition("-")
    for interval in sorted({case.interval, case.chance.choice((0, 100, 700, 4096))}):
        ours = case.scratch / f"rebuilt-{interval}"
        ran = run("rebuild", case.partition, "--output", ours, "--index-interval-bytes", interval)
        case.ledger.compare("rebuild.status", ("rebuild", case.partition), (ran.status, ran.err.decode()), (0, ""))
        for log, _, base in case.files(".log"):
            theirs = case.scratch / f"recovered-{interval}" / log.stem
            theirs.mkdir(parents=True)
            for path in (log, log.with_suffix(".snapshot")):
                if path.exists():
                    shutil.copy(path, theirs)
            (truncated,) = case.kafka.ask("recover", theirs, base, interval, 10485760, topic, number)
            case.ledger.compare("rebuild.truncated", ("recover", log), 0, int(truncated))
            for suffix in _INDEXES:
                mine, other = ours / case.partition.name / (log.stem + suffix), theirs / (log.stem + suffix)
                asked = ("rebuild", "--index-interval-bytes", interval, log.with_suffix(suffix))
                case.ledger.compare("rebuild", asked, _bytes(mine), _bytes(other))


def _bytes(path) -> str:
    """A file's bytes; a transaction index that is not there is one without entries."""
    return path.read_bytes().hex() if path.exists() else ""
