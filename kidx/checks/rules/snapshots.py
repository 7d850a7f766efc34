"""Producer snapshots: by themselves, and against what the log says of the producers.

A snapshot holds each producer's state as batches and markers left it (ProducerStateManager, ProducerAppendInfo): its
last data batch as long as no marker of a later epoch has come, the timestamp of whichever came last, and the epoch of
the coordinator that wrote the last marker. A broker forgets producers that are silent for too long
(producer.id.expiration.ms), or all of them where it finds no snapshot: so one may be missing, and one that came back
knows nothing of what it did before.
"""

from __future__ import annotations

from collections.abc import Iterator

from kidx.checks.rule import check
from kidx.checks.subjects.logs import Named
from kidx.checks.subjects.partitions import SnapshotClaims, SnapshotFile
from kidx.checks.subjects.producers import GAP, NEW_EPOCH, OLD_EPOCH, REPEAT, Known, Producer, Written, why_not
from kidx.checks.texts import REBUILD_STATE_FILE
from kidx.findings import ERROR, WARNING, Finding, Rule
from kidx.formats.batches import sequence_after
from kidx.formats.producer_snapshot import HEADER_BYTES, PRODUCER_ENTRY, VERSION, ProducerState

SNAPSHOT_DAMAGED = Rule(
    code="KX406",
    name="snapshot-damaged",
    severity=ERROR,
    title="A producer snapshot is damaged",
    broker=(
        "The broker logs it, deletes the file, takes the next older one, and reads the log from there on; without "
        "any it reads the whole log, which delays the start."
    ),
    story=(
        "The file is a version, a CRC and the producers' states. A damaged one costs time at the next start, no "
        "data: producer states come back from the log, as far as it reaches."
    ),
    repair=REBUILD_STATE_FILE,
)

SNAPSHOT_CONTRADICTS_LOG = Rule(
    code="KX407",
    name="snapshot-contradicts-log",
    severity=ERROR,
    title="A producer snapshot contradicts the log",
    broker=(
        "A broker trusts the newest snapshot at start: a wrong sequence number makes the broker refuse a producer's "
        "next batch (OutOfOrderSequenceException) or accept a duplicate; a wrong transaction holds the last stable "
        "offset back or lets it pass."
    ),
    story=(
        "A snapshot holds each producer's last batch and open transaction at its offset. This one belongs to another "
        "log, was changed, or the log's end was cut off without the broker's knowledge (a snapshot of an offset past "
        "the end: recovery and truncation delete those). Do not delete it: after a clean stop a broker that finds no "
        "snapshot starts without any producer, and open transactions are forgotten (seen with 4.3.1). Let the replica "
        "fetch the partition again or, where there is no other replica, delete .kafka_cleanshutdown of the stopped "
        "broker: it then reads the whole log and writes the snapshots again. Brokers before 2.4 keep the timestamp of "
        "the batch before a marker, and 0.11 the marker's own offset: that is no finding. Producers missing from a "
        "snapshot are not findings either, unless they have an open transaction: a broker forgets producers that are "
        "silent for long. In a compacted partition less can be checked."
    ),
    repair="compare with a replica (`kidx diff`)",
)

_BATCH = ("last_sequence", "last_offset", "offset_delta")
_NO_BATCH = (-1, -1, 0)
_NONE = -1

Wrong = dict[str, int]  # fields of an entry that are not what they should be, and what they should be


@check(SnapshotFile, SNAPSHOT_DAMAGED)
def damaged_snapshot(file: SnapshotFile) -> Iterator[Finding]:
    """Bytes that are no snapshot, of another version, CRC or length than they say."""
    path, size, snapshot, why = file
    if snapshot is None:
        yield SNAPSHOT_DAMAGED.finding(path, why, span=(0, size), found=size)
    elif snapshot.version != VERSION:
        yield SNAPSHOT_DAMAGED.finding(
            path, f"its version is {snapshot.version}", expected=VERSION, found=snapshot.version
        )
    elif not snapshot.crc_ok:
        yield SNAPSHOT_DAMAGED.finding(
            path, "its bytes do not have its CRC", span=(2, size), found=f"{snapshot.crc:08x}"
        )
    elif snapshot.entry_count != len(snapshot.producers):
        yield SNAPSHOT_DAMAGED.finding(
            path,
            f"it announces {snapshot.entry_count} producers and holds {len(snapshot.producers)} and "
            f"{snapshot.extra_bytes} bytes more",
            expected=snapshot.entry_count,
            found=len(snapshot.producers),
        )
    elif snapshot.extra_bytes:
        yield SNAPSHOT_DAMAGED.finding(
            path,
            f"{snapshot.extra_bytes} bytes follow its {snapshot.entry_count} producers, and its CRC covers them: no "
            "broker wrote that, though each reads it",
            span=(size - snapshot.extra_bytes, size),
            found=snapshot.extra_bytes,
            severity=WARNING,
        )


@check(SnapshotClaims, SNAPSHOT_CONTRADICTS_LOG)
def contradicted_snapshot(claims: SnapshotClaims) -> Iterator[Finding]:
    """Entries that contradict the log, and producers with an open transaction that have no entry."""
    path, at, snapshot = claims.path, claims.at, claims.snapshot
    if claims.log_end is not None and at > claims.log_end:
        yield SNAPSHOT_CONTRADICTS_LOG.finding(
            path,
            f"it is of offset {at}; the log ends with offset {claims.log_end - 1}",
            expected=f"<= {claims.log_end}",
            found=at,
        )
        return
    for number, entry in enumerate(snapshot.producers):
        contradiction, expected = _contradiction(entry, claims)
        if contradiction:
            start = HEADER_BYTES + number * PRODUCER_ENTRY.size
            yield SNAPSHOT_CONTRADICTS_LOG.finding(
                path,
                f"it says that producer {entry.producer_id} {contradiction}",
                span=(start, start + PRODUCER_ENTRY.size),
                slot=number,
                expected=expected,
                found=entry._asdict(),
            )
    listed = {entry.producer_id for entry in snapshot.producers}
    for producer, first in (claims.open or {}).items():
        if producer not in listed:
            yield SNAPSHOT_CONTRADICTS_LOG.finding(
                path,
                f"it does not list producer {producer}, whose transaction is open from offset {first} by the log",
                expected={"producer_id": producer, "current_txn_first_offset": first},
            )


def _contradiction(entry: ProducerState, claims: SnapshotClaims) -> tuple[str, Wrong | None]:
    """What an entry says that the log does not, as the end of a sentence (empty if nothing), and what it should say."""
    at = claims.at
    if entry.last_offset >= at:
        return f"last wrote offset {entry.last_offset}, which the snapshot at {at} cannot know of", None
    first = entry.current_txn_first_offset
    if first >= at:
        return f"has a transaction open from offset {first}, which the snapshot at {at} cannot know of", None
    there = claims.named.get(entry.last_offset)
    if there is not None and there.producer_id != entry.producer_id:
        return f"wrote offset {entry.last_offset}; in the log producer {there.producer_id} did", None
    if there is not None and not there.exact:
        return f"wrote a batch that ends with offset {entry.last_offset}; the log has none that ends there", None
    known = claims.known
    wrong: Wrong = {}
    if known is not None and not claims.compacted:
        last = known.producers.get(entry.producer_id, Producer(None, None))
        earlier = claims.before.get(entry.producer_id)
        if last.data is None and last.marker is None and earlier is None and known.complete:
            return f"wrote to this log; it has no batch of that producer before offset {at}", None
        wrong = _wrong_fields(entry, last, earlier, known)
    elif entry.last_offset >= 0:
        wrong = _wrong_as_far_as_known(entry, there, known.producers.get(entry.producer_id) if known else None)
    if claims.open is not None:
        wrong |= _differing(entry, current_txn_first_offset=claims.open.get(entry.producer_id, _NONE))
    fields = entry._asdict()
    texts = (f"{name.replace('_', ' ')} {fields[name]} (by the log {value})" for name, value in wrong.items())
    return ("has " + ", ".join(texts) if wrong else ""), wrong or None


def _wrong_fields(entry: ProducerState, last: Producer, earlier: ProducerState | None, known: Known) -> Wrong:
    """The fields that do not come from what the producer did last by the log, nor from the snapshot before."""
    data, marker = last
    if marker is not None and last.marker_came_last:
        wrong = _differing(entry, producer_epoch=marker.producer_epoch)
        if entry.timestamp not in _timestamps_after(marker.timestamp, data, earlier):
            wrong |= {"timestamp": marker.timestamp}
        if marker.coordinator_epoch is not None:
            wrong |= _differing(entry, coordinator_epoch=marker.coordinator_epoch)
        batch = tuple(getattr(entry, name) for name in _BATCH)
        if batch == _NO_BATCH:  # forgotten, or the marker began an epoch
            return wrong
        if batch[1:] == (marker.offset, 0) and batch[0] in (_NONE, *_sequences(data, earlier)):  # as 0.11 writes it
            return wrong
        if data is not None:
            return wrong | _differing(entry, **_batch(data.last_sequence, data.last_offset, data.offset_delta))
        if earlier is not None:
            return wrong | _differing(entry, **{name: getattr(earlier, name) for name in _BATCH})
        if known.complete or entry.last_offset >= known.start:
            return wrong | _differing(entry, **_batch(*_NO_BATCH))
        return wrong
    if data is None:
        if earlier is None:
            return {"last_offset": _NONE} if entry.last_offset >= known.start else _not_followed(entry, known)
        return _differing(entry, **{**earlier._asdict(), "current_txn_first_offset": entry.current_txn_first_offset})
    wrong = _differing(
        entry,
        producer_epoch=data.producer_epoch,
        **_batch(data.last_sequence, data.last_offset, data.offset_delta),
        timestamp=data.timestamp,
    )
    if entry.coordinator_epoch != _NONE:  # not as one that was forgotten since, or never had a transaction
        if marker is not None and marker.coordinator_epoch is not None:
            wrong |= _differing(entry, coordinator_epoch=marker.coordinator_epoch)
        elif marker is None and earlier is not None:
            wrong |= _differing(entry, coordinator_epoch=earlier.coordinator_epoch)
        elif marker is None and known.complete:
            wrong |= _differing(entry, coordinator_epoch=_NONE)
    return wrong


def _timestamps_after(marker: int, data: Written | None, earlier: ProducerState | None) -> tuple[int, ...]:
    """What may stand as the timestamp after a marker: its own, or, by brokers before 2.4, what stood there before."""
    return (marker, _NONE, *(there.timestamp for there in (data, earlier) if there is not None))


def _sequences(data: Written | None, earlier: ProducerState | None) -> tuple[int, ...]:
    """The last sequence before a marker, as far as it is known."""
    last = data or earlier
    return () if last is None else (last.last_sequence,)


def _not_followed(entry: ProducerState, known: Known) -> Wrong:
    """The same where all that is known of the producer comes later: its next batch has to follow the one before."""
    there, marker = known.following.get(entry.producer_id, (None, None))
    if there is None:
        return {}
    first_offset = entry.last_offset - entry.offset_delta
    first_sequence = sequence_after(entry.last_sequence, -entry.offset_delta)
    before = Written(
        entry.producer_id, entry.producer_epoch, first_sequence, entry.offset_delta, first_offset, entry.timestamp, 0
    )
    why = why_not(Producer(before, marker), there)
    if why in (GAP, REPEAT):
        return {"last_sequence": sequence_after(there.base_sequence, -1)}
    return {"producer_epoch": there.producer_epoch} if why in (NEW_EPOCH, OLD_EPOCH) else {}


def _wrong_as_far_as_known(entry: ProducerState, there: Named | None, last: Producer | None) -> Wrong:
    """The same of a log that was compacted or is damaged: batches and markers may be gone, those left prove something.

    `there` is the batch that the entry names, `last` what is left of what the producer did last.
    """
    if last is not None and last.data is not None and last.data.last_offset > entry.last_offset:
        return {"last_offset": last.data.last_offset}
    if there is None or there.control:
        return {}
    return _differing(
        entry,
        producer_epoch=there.producer_epoch,
        last_sequence=there.last_sequence,
        offset_delta=there.offset_delta,
    )


def _batch(last_sequence: int, last_offset: int, offset_delta: int) -> Wrong:
    return dict(zip(_BATCH, (last_sequence, last_offset, offset_delta), strict=True))


def _differing(entry: ProducerState, **expected: int) -> Wrong:
    """Those of the fields that an entry has another value in."""
    return {name: value for name, value in expected.items() if getattr(entry, name) != value}
