"""Producer snapshots: by themselves, and against what the log says of the producers.

A snapshot holds each producer's state as batches and markers left it (ProducerStateManager, ProducerAppendInfo): its
last data batch as long as no marker of a later epoch has come, the timestamp of whichever came last, and the epoch of
the coordinator that wrote the last marker. A broker forgets producers that are silent for too long
(producer.id.expiration.ms), or all of them where it finds no snapshot: so one may be missing, and one that came back
knows nothing of what it did before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kidx.checks.making import finding
from kidx.checks.producer_history import Known
from kidx.checks.sequences import GAP, NEW_EPOCH, OLD_EPOCH, REPEAT, Producer, Written, why_not
from kidx.checks.stretch import Named
from kidx.findings import WARNING, Finding
from kidx.formats.batches import sequence_after
from kidx.formats.producer_snapshot import HEADER_BYTES, PRODUCER_ENTRY, VERSION, ProducerSnapshot, ProducerState

_BATCH = ("last_sequence", "last_offset", "offset_delta")
_NO_BATCH = (-1, -1, 0)
_NONE = -1

Wrong = dict[str, int]  # fields of an entry that are not what they should be, and what they should be


def check_snapshot(path: str, snapshot: ProducerSnapshot, size: int) -> Iterator[Finding]:
    """Findings about a producer snapshot by itself."""
    if snapshot.version != VERSION:
        yield finding("KX406", path, f"its version is {snapshot.version}", expected=VERSION, found=snapshot.version)
    elif not snapshot.crc_ok:
        yield finding("KX406", path, "its bytes do not have its CRC", span=(2, size), found=f"{snapshot.crc:08x}")
    elif snapshot.entry_count != len(snapshot.producers):
        yield finding(
            "KX406",
            path,
            f"it announces {snapshot.entry_count} producers and holds {len(snapshot.producers)} and "
            f"{snapshot.extra_bytes} bytes more",
            expected=snapshot.entry_count,
            found=len(snapshot.producers),
        )
    elif snapshot.extra_bytes:
        yield finding(
            "KX406",
            path,
            f"{snapshot.extra_bytes} bytes follow its {snapshot.entry_count} producers, and its CRC covers them: no "
            "broker wrote that, though each reads it",
            span=(size - snapshot.extra_bytes, size),
            found=snapshot.extra_bytes,
            severity=WARNING,
        )


class Told(NamedTuple):
    """What a partition's files tell about the moment of a snapshot.

    `named` are the log's batches by the last offsets that snapshots name; one that is not there was deleted or
    compacted away, which proves nothing. `known` is what the log says of the producers, and `open` are the first
    offsets of the transactions open there, by producer id: both None where it does not tell. `before` are the entries
    of the snapshot before, where the log has no gap since. `log_end` is the offset after the log's last one, None where
    that is not known.
    """

    named: Mapping[int, Named]
    known: Known | None
    open: Mapping[int, int] | None
    before: Mapping[int, ProducerState]
    log_end: int | None
    compacted: bool


def compare_snapshot(path: str, at: int, snapshot: ProducerSnapshot, told: Told) -> Iterator[Finding]:
    """Findings where a sound snapshot, of offset `at`, and the log differ."""
    if told.log_end is not None and at > told.log_end:
        yield finding(
            "KX407",
            path,
            f"it is of offset {at}; the log ends with offset {told.log_end - 1}",
            expected=f"<= {told.log_end}",
            found=at,
        )
        return
    for number, entry in enumerate(snapshot.producers):
        said, expected = _contradiction(entry, at, told)
        if said:
            start = HEADER_BYTES + number * PRODUCER_ENTRY.size
            yield finding(
                "KX407",
                path,
                f"it says that producer {entry.producer_id} {said}",
                span=(start, start + PRODUCER_ENTRY.size),
                slot=number,
                expected=expected,
                found=entry._asdict(),
            )
    listed = {entry.producer_id for entry in snapshot.producers}
    for producer, first in (told.open or {}).items():
        if producer not in listed:
            yield finding(
                "KX407",
                path,
                f"it does not list producer {producer}, whose transaction is open from offset {first} by the log",
                expected={"producer_id": producer, "current_txn_first_offset": first},
            )


def _contradiction(entry: ProducerState, at: int, told: Told) -> tuple[str, Wrong | None]:
    """What an entry says that the log does not, as the end of a sentence (empty if nothing), and what it should say."""
    if entry.last_offset >= at:
        return f"last wrote offset {entry.last_offset}, which the snapshot at {at} cannot know of", None
    first = entry.current_txn_first_offset
    if first >= at:
        return f"has a transaction open from offset {first}, which the snapshot at {at} cannot know of", None
    there = told.named.get(entry.last_offset)
    if there is not None and there.producer_id != entry.producer_id:
        return f"wrote offset {entry.last_offset}; in the log producer {there.producer_id} did", None
    if there is not None and not there.exact:
        return f"wrote a batch that ends with offset {entry.last_offset}; the log has none that ends there", None
    known = told.known
    wrong: Wrong = {}
    if known is not None and not told.compacted:
        last = known.producers.get(entry.producer_id, Producer(None, None))
        earlier = told.before.get(entry.producer_id)
        if last.data is None and last.marker is None and earlier is None and known.complete:
            return f"wrote to this log; it has no batch of that producer before offset {at}", None
        wrong = _wrong_fields(entry, last, earlier, known)
    elif entry.last_offset >= 0:
        wrong = _wrong_as_far_as_known(entry, there, known.producers.get(entry.producer_id) if known else None)
    if told.open is not None:
        wrong |= _differing(entry, current_txn_first_offset=told.open.get(entry.producer_id, _NONE))
    fields = entry._asdict()
    said = (f"{name.replace('_', ' ')} {fields[name]} (by the log {value})" for name, value in wrong.items())
    return ("has " + ", ".join(said) if wrong else ""), wrong or None


def _wrong_fields(entry: ProducerState, last: Producer, earlier: ProducerState | None, known: Known) -> Wrong:
    """The fields that do not come from what the producer did last by the log, nor from the snapshot before."""
    data, marker = last
    if marker is not None and last.marker_came_last:
        wrong = _differing(entry, producer_epoch=marker.producer_epoch, timestamp=marker.timestamp)
        if marker.coordinator_epoch is not None:
            wrong |= _differing(entry, coordinator_epoch=marker.coordinator_epoch)
        batch = tuple(getattr(entry, name) for name in _BATCH)
        if batch == _NO_BATCH:  # forgotten, or the marker began an epoch
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
