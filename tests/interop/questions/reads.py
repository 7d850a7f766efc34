"""Reads of a segment by offset and by time, and the aborted transactions of a fetch."""

from __future__ import annotations

from tests.interop.questions import Case, rows

_READS, _FINDS, _FETCHES = 6, 6, 8


def reads(case: Case) -> None:
    """LogSegment.read of a size, and LogSegment.findOffsetByTimestamp, about each segment."""
    bases = [base for *_, base in case.files(".log")]
    for (path, _, base), end in zip(case.files(".log"), [*bases[1:], bases[-1] + 300], strict=True):
        _reads(case, path, base, end)
        _finds(case, path, base, end)


def _reads(case: Case, path: object, base: int, end: int) -> None:
    r = case.chance
    targets = [base, max(base - 1, 0), end - 1, end, *(r.randrange(base, end + 1) for _ in range(_READS))]
    asked = [(t, r.choice((0, 1, r.randrange(500), r.randrange(20000)))) for t in targets]
    said = case.kafka.ask("read", case.copy, base, *(f"{t}:{size}" for t, size in asked))[0].split(" ")
    for (target, size), told in zip(asked, said, strict=True):
        (row,) = rows("lookup", path, "--offset", target, "--max-bytes", size)
        ours = f"{row['slice']['position']}:{row['slice']['size']}" if row["slice"] else "-"
        case.ledger.compare("read", ("lookup", path, "--offset", target, "--max-bytes", size), ours, told)


def _finds(case: Case, path: object, base: int, end: int) -> None:
    r = case.chance
    times = [row["max_timestamp"] for row in rows("dump", path)]
    near = [t + d for t in case.some(times, _FINDS) for d in (-1, 0, 1)]
    asked = [
        (t, start) for t in case.some([0, *near], _FINDS) if t >= 0 for start in (base, r.randrange(base, end + 1))
    ]
    said = case.kafka.ask("find", case.copy, base, *(f"{t}:{start}" for t, start in asked))[0].split(" ")
    for (time, start), told in zip(asked, said, strict=True):
        (row,) = rows("lookup", path, "--timestamp", time, "--start", start)
        found = row["found"]
        epoch = "-" if found is None or found["leader_epoch"] is None else found["leader_epoch"]
        ours = f"{found['timestamp']}:{found['offset']}:{epoch}" if found else "-"
        case.ledger.compare("find", ("lookup", path, "--timestamp", time, "--start", start), ours, told)


def aborted(case: Case) -> None:
    """TransactionIndex.collectAbortedTxns of any fetch."""
    for path, theirs, base in case.files(".txnindex"):
        entries = rows("dump", path)
        if not entries:
            continue
        end = max(row["last_offset"] for row in entries) + 50
        starts = [case.chance.randrange(base, end) for _ in range(_FETCHES)]
        fetches = [(start, case.chance.randrange(start, end + 1)) for start in starts]
        said = case.kafka.ask("aborted", theirs, base, *(f"{a}:{b}" for a, b in fetches))[0].split(" ")
        for (start, stop), told in zip(fetches, said, strict=True):
            (row,) = rows("lookup", path, "--fetch-from", start, "--fetch-to", stop)
            found = ",".join(f"{t['producer_id']}:{t['first_offset']}" for t in row["aborted"])
            ours = f"{str(row['complete']).lower()};{found}"
            case.ledger.compare("aborted", ("lookup", path, "--fetch-from", start, "--fetch-to", stop), ours, told)
