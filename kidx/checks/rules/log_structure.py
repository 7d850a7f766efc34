"""Bytes of a log that are no batch: in its middle and at its end."""

from __future__ import annotations

from kidx.checks.rule import check
from kidx.checks.subjects.logs import LogBreak
from kidx.checks.texts import FETCH_AGAIN
from kidx.evidence import open_evidence
from kidx.findings import ERROR, NOTE, Finding, Rule
from kidx.segments.walk import PREALLOCATED, TORN

TORN_BATCH = Rule(
    code="KX302",
    name="torn-batch",
    severity=ERROR,
    title="The log ends inside a batch",
    broker=(
        "After an unclean stop, recovery of a segment past the recovery point truncates the log at this batch. A "
        "segment below it, or after a clean stop, is loaded as it is: reads of the last batch fail."
    ),
    story=(
        "The last append was not written out: power loss, a full disk, or a copy that did not finish. In the active "
        "segment of a running broker it is an append under way (--live knows that). What is missing was acknowledged "
        "only if other replicas have it."
    ),
    repair=f"let the broker recover the segment, or {FETCH_AGAIN}",
)

BROKEN_BATCH = Rule(
    code="KX303",
    name="broken-batch",
    severity=ERROR,
    title="No batch can be read in the middle of the log; more batches follow",
    broker=(
        "Every version reads from batch to batch by their lengths, so a fetch at or after this place fails "
        "(CorruptRecordException, or a batch too large to fetch). Recovery truncates the log here, and drops the sound "
        "batches after it, too. A magic byte above 2 is the exception: recovery treats it as 2 and keeps a batch that "
        "no consumer can read."
    ),
    story=(
        "A length or a magic byte was overwritten, or bytes were lost or added. kidx goes on with the next batch whose "
        "CRC holds, so the data after the damage is known: compare with a replica (`kidx diff`) before a broker's "
        "recovery cuts it off."
    ),
    repair=FETCH_AGAIN,
)

TRAILING_GARBAGE = Rule(
    code="KX304",
    name="trailing-garbage",
    severity=ERROR,
    title="The bytes after the last batch are no batch",
    broker=(
        "Reading stops there: the log end is taken from what can be read, new batches are appended after the "
        "garbage, and cannot be reached. Recovery after an unclean stop truncates the garbage away."
    ),
    story=(
        "Something else was written to the file, or a file system gave it another file's blocks after a crash. "
        "Batches before it are sound."
    ),
    repair=f"let the broker recover the segment, or {FETCH_AGAIN}",
)

LOG_ZERO_TAIL = Rule(
    code="KX312",
    name="log-zero-tail",
    severity=NOTE,
    title="The log ends in preallocated zeros",
    broker=(
        "With log.preallocate a new segment is zero-filled to its full size and cut to its batches when it rolls or "
        "the log closes. After an unclean stop recovery truncates the zeros."
    ),
    story=(
        "The zeros are no data. In the active segment, and after an unclean stop, they belong there; elsewhere no "
        "broker will cut them off, or a file system lost blocks at the end of the file."
    ),
)

TAIL_STOPS_START = Rule(
    code="KX314",
    name="tail-stops-start",
    severity=ERROR,
    title="After this clean stop a broker does not start, because of the bytes at the end of the log",
    broker=(
        "3.9 and 4.3 do not recover a log after a clean stop; they read the active segment from the last index entry "
        'on and do not start: CorruptRecordException ("Found record size 0 smaller than minimum record overhead").'
    ),
    story=(
        "Zeros or other bytes follow the last batch of the active segment, though the log dir has the mark of a clean "
        "stop (.kafka_cleanshutdown): a broker cuts a preallocated log when it closes it. The mark was copied from "
        "elsewhere, or a file system lost blocks. Delete .kafka_cleanshutdown of the stopped broker, so that it "
        "recovers the active segments and truncates them."
    ),
    repair="delete .kafka_cleanshutdown while the broker is stopped: it then recovers the active segments",
)

_LENGTH_AT, _HEADER_READ, _LEAST_LENGTH = 8, 17, 14  # org.apache.kafka.common.record.FileLogInputStream


@check(LogBreak, BROKEN_BATCH)
def broken_batch(place: LogBreak) -> list[Finding] | None:
    """Bytes before another batch whose CRC holds."""
    if place.at_end:
        return None
    text = f"no batch can be read at byte {place.start} ({place.why}); the next sound one starts at byte {place.end}"
    span = place.start, place.end
    return [BROKEN_BATCH.finding(place.path, text, span=span, found=place.end - place.start)]


def _at_end(rule: Rule, place: LogBreak, text: str, severity: str | None = None) -> list[Finding]:
    rest = place.end - place.start
    sentence = f"its last {rest:,} bytes are {text}"
    return [rule.finding(place.path, sentence, span=(place.start, place.end), found=rest, severity=severity)]


@check(LogBreak, TORN_BATCH)
def torn_batch(place: LogBreak) -> list[Finding] | None:
    """A batch that the end of the file cuts; not an append under way."""
    if not place.at_end or place.kind != TORN or place.being_written:
        return None
    return _at_end(TORN_BATCH, place, f"no batch: {place.why}")


@check(LogBreak, TRAILING_GARBAGE)
def trailing_garbage(place: LogBreak) -> list[Finding] | None:
    """Other bytes at the end."""
    if not place.at_end or place.kind in (TORN, PREALLOCATED) or _stops_start(place):
        return None
    return _at_end(TRAILING_GARBAGE, place, f"no batch: {place.why}")


@check(LogBreak, LOG_ZERO_TAIL)
def log_zero_tail(place: LogBreak) -> list[Finding] | None:
    """Zeros at the end."""
    if place.kind != PREALLOCATED or _stops_start(place):
        return None
    severity, why = place.facts.zero_tail()
    return _at_end(LOG_ZERO_TAIL, place, f"zeros: {why}", severity)


@check(LogBreak, TAIL_STOPS_START)
def tail_stops_start(place: LogBreak) -> list[Finding] | None:
    """An end of the active segment, after a clean stop, that a broker reads as a batch of an impossible size."""
    if not _stops_start(place):
        return None
    what = "zeros" if place.kind == PREALLOCATED else f"no batch: {place.why}"
    return _at_end(TAIL_STOPS_START, place, f"{what}; the mark of a clean stop keeps the broker from cutting them off")


def _stops_start(place: LogBreak) -> bool:
    facts = place.facts
    if not place.at_end or place.end - place.start <= _HEADER_READ or place.kind == TORN:
        return False
    if not facts.active or not facts.clean_start or facts.live:
        return False
    if place.kind == PREALLOCATED:
        return True
    with open_evidence(place.path) as log:
        length = log.read(place.start + _LENGTH_AT, 4)
    return int.from_bytes(length, signed=True) < _LEAST_LENGTH
