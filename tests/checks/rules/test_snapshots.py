"""Producer snapshots: damaged ones, and each field of an entry held against what the log shows of its producer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from struct import pack

import pytest

from kidx.checks.engine.discovery import findings_about
from kidx.checks.subjects.logs import Named
from kidx.checks.subjects.partitions import SnapshotClaims
from kidx.checks.subjects.producers import Ended, Known, Producer, Written
from kidx.findings import ERROR, WARNING, Finding, limited
from kidx.formats.checksums import crc32c
from kidx.formats.producer_snapshot import ProducerSnapshot, ProducerState, parse_snapshot
from tests.checks.conftest import check, placed

Copy = Callable[[str], Path]
WIDTH = 46

# One producer at a snapshot of offset 100: what it wrote last, and the markers that came before and after that.
ENTRY = ProducerState(7, 2, 19, 89, 4, 5000, 3, -1)
DATA = Written(7, 2, 15, 4, 85, 5000, 0)
EARLIER_MARKER, LATER_MARKER = Ended(60, 2, 4000, 3), Ended(95, 2, 6000, 3)
ENDED = ENTRY._replace(timestamp=6000)  # the entry after the later marker
UNKNOWN = Producer(None, None)


def claims(
    *entries: ProducerState,
    last: Producer | None = None,
    earlier: ProducerState | None = None,
    complete: bool = True,
    start: int = 0,
    following: Mapping[int, tuple[Written, Ended | None]] | None = None,
    known: bool = True,
    named: Mapping[int, Named] | None = None,
    open_: Mapping[int, int] | None = None,
    log_end: int | None = None,
    compacted: bool = False,
) -> list[Finding]:
    """What is found in a snapshot of offset 100 with these entries, given what the log shows of producer 7."""
    snapshot = ProducerSnapshot(1, 0, True, len(entries), list(entries), 0)
    before = {} if earlier is None else {7: earlier}
    shown = Known({} if last is None else {7: last}, start, complete, following or {}) if known else None
    subject = SnapshotClaims("x", 100, snapshot, named or {}, shown, open_, before, log_end, compacted)
    return list(limited(findings_about(subject)))


def wrong(found: list[Finding]) -> object:
    """The fields that are wrong by the log, {} without a finding."""
    if not found:
        return {}
    (one,) = found
    assert (one.rule, one.severity, one.slot, one.byte_start, one.byte_end) == ("KX407", ERROR, 0, 10, 10 + WIDTH)
    return one.expected


def differs(entry: ProducerState, **by: int) -> ProducerState:
    return entry._replace(**{name: getattr(entry, name) + value for name, value in by.items()})


FIELDS = ("producer_epoch", "last_sequence", "last_offset", "offset_delta", "timestamp")


@pytest.mark.parametrize("marker", [None, EARLIER_MARKER])
@pytest.mark.parametrize("field", FIELDS)
def test_the_entry_of_a_producer_whose_batch_came_last(field: str, marker: Ended | None) -> None:
    last = Producer(DATA, marker)
    entry = ENTRY if marker else ENTRY._replace(coordinator_epoch=-1)
    assert claims(entry, last=last) == []
    for by in (1, -1):
        changed = differs(entry, **{field: by})
        (found,) = claims(changed, last=last)
        assert wrong([found]) == {field: getattr(entry, field)}
        assert found.found == changed._asdict()
        assert f"has {field.replace('_', ' ')} {getattr(changed, field)} (by the log {getattr(entry, field)})" in (
            found.message
        )


@pytest.mark.parametrize("field", [*FIELDS, "coordinator_epoch"])
def test_the_entry_of_a_producer_whose_marker_came_last(field: str) -> None:
    last = Producer(DATA, LATER_MARKER)
    assert claims(ENDED, last=last) == []
    for by in (1, -1):
        assert wrong(claims(differs(ENDED, **{field: by}), last=last)) == {field: getattr(ENDED, field)}


def test_every_field_that_is_wrong_is_named() -> None:
    changed = differs(ENDED, producer_epoch=1, timestamp=1, coordinator_epoch=1, last_sequence=1, last_offset=1)
    expected = {name: getattr(ENDED, name) for name in (*FIELDS, "coordinator_epoch") if name != "offset_delta"}
    assert wrong(claims(changed, last=Producer(DATA, LATER_MARKER))) == expected
    changed = differs(ENTRY, producer_epoch=1, coordinator_epoch=1, current_txn_first_offset=8)
    assert wrong(claims(changed, last=Producer(DATA, EARLIER_MARKER), open_={})) == {
        "producer_epoch": 2,
        "coordinator_epoch": 3,
        "current_txn_first_offset": -1,
    }
    changed = differs(ENTRY, current_txn_first_offset=8, last_sequence=1)
    assert wrong(claims(changed, last=Producer(DATA, EARLIER_MARKER), open_={7: 6})) == {
        "last_sequence": 19,
        "current_txn_first_offset": 6,
    }


COORDINATORS: dict[str, tuple[int, Producer, ProducerState | None, bool, object]] = {
    "the marker's": (3, Producer(DATA, EARLIER_MARKER), None, True, {}),
    "not the marker's": (4, Producer(DATA, EARLIER_MARKER), None, True, {"coordinator_epoch": 3}),
    "forgotten": (-1, Producer(DATA, EARLIER_MARKER), None, True, {}),
    "a marker that does not say": (4, Producer(DATA, EARLIER_MARKER._replace(coordinator_epoch=None)), None, True, {}),
    "such a marker after another snapshot": (
        4, Producer(DATA, EARLIER_MARKER._replace(coordinator_epoch=None)), ENTRY, False, {}
    ),
    "a later marker that does not say": (
        4, Producer(DATA._replace(timestamp=1), Ended(95, 2, 5000, None)), None, True, {}
    ),
    "as in the snapshot before": (4, Producer(DATA, None), ENTRY._replace(coordinator_epoch=4), True, {}),
    "not as in the snapshot before": (4, Producer(DATA, None), ENTRY, True, {"coordinator_epoch": 3}),
    "of a producer without any": (4, Producer(DATA, None), None, True, {"coordinator_epoch": -1}),
    "0 of a producer without any": (0, Producer(DATA, None), None, True, {"coordinator_epoch": -1}),
    "of a producer that is not known whole": (4, Producer(DATA, None), None, False, {}),
}  # fmt: skip


@pytest.mark.parametrize(("epoch", "last", "earlier", "complete", "expected"), COORDINATORS.values(), ids=COORDINATORS)
def test_coordinator_epochs(
    epoch: int, last: Producer, earlier: ProducerState | None, complete: bool, expected: object
) -> None:
    entry = ENTRY._replace(coordinator_epoch=epoch)
    assert wrong(claims(entry, last=last, earlier=earlier, complete=complete)) == expected


NO_BATCH = {"last_sequence": -1, "last_offset": -1, "offset_delta": 0}
MARKER_ALONE = Producer(None, LATER_MARKER)


def test_the_batch_before_a_marker() -> None:
    """It comes from the log, else from the snapshot before; and a broker may have forgotten it."""
    assert claims(ENDED._replace(**NO_BATCH), last=Producer(DATA, LATER_MARKER)) == []
    assert claims(ENDED._replace(**NO_BATCH), last=MARKER_ALONE) == []
    assert claims(ENDED, last=MARKER_ALONE, earlier=ENTRY) == []
    for field in NO_BATCH:
        changed = differs(ENDED, **{field: 1})
        assert wrong(claims(changed, last=MARKER_ALONE, earlier=ENTRY)) == {field: getattr(ENTRY, field)}
    twice = differs(ENDED, last_sequence=1, timestamp=1)
    expected = {"last_sequence": 19, "timestamp": 6000}
    assert wrong(claims(twice, last=MARKER_ALONE, earlier=ENTRY)) == expected
    assert wrong(claims(ENDED, last=MARKER_ALONE)) == NO_BATCH
    assert wrong(claims(differs(ENDED, timestamp=1), last=MARKER_ALONE)) == {**NO_BATCH, "timestamp": 6000}
    assert wrong(claims(ENDED, last=MARKER_ALONE, start=90)) == NO_BATCH
    assert wrong(claims(ENDED, last=MARKER_ALONE, complete=False, start=89)) == NO_BATCH
    assert claims(ENDED, last=MARKER_ALONE, complete=False, start=90) == []
    assert wrong(claims(differs(ENDED, timestamp=1), last=MARKER_ALONE, complete=False, start=90)) == {
        "timestamp": 6000
    }


def test_a_producer_that_the_log_does_not_know() -> None:
    (found,) = claims(ENTRY)
    assert (found.slot, found.expected) == (0, None) and "it has no batch of that producer before" in found.message
    (found,) = claims(ENTRY, last=UNKNOWN)
    assert found.expected is None
    assert claims(ENTRY, last=UNKNOWN, earlier=ENTRY) == []
    assert claims(ENTRY, last=UNKNOWN, complete=False, start=90) == []
    assert wrong(claims(ENTRY, last=UNKNOWN, complete=False, start=89)) == {"last_offset": -1}


@pytest.mark.parametrize("field", ProducerState._fields[1:-1])
def test_a_silent_producers_entry_is_that_of_the_snapshot_before(field: str) -> None:
    assert wrong(claims(differs(ENTRY, **{field: 1}), earlier=ENTRY)) == {field: getattr(ENTRY, field)}
    assert claims(ENTRY, earlier=differs(ENTRY, current_txn_first_offset=8)) == []


NEXT = Written(7, 2, 20, 0, 120, 7000, 0)
SILENT = ENTRY._replace(last_offset=40)
FOLLOWING: dict[str, tuple[Written, Ended | None, object]] = {
    "the next number": (NEXT, None, {}),
    "a gap": (NEXT._replace(base_sequence=25), None, {"last_sequence": 24}),
    "a number less": (NEXT._replace(base_sequence=19), None, {"last_sequence": 18}),
    "from 0 on": (NEXT._replace(base_sequence=0), None, {}),
    "no numbers": (NEXT._replace(base_sequence=-1), None, {}),
    "a new epoch": (NEXT._replace(producer_epoch=3, base_sequence=0), None, {}),
    "a new epoch that begins with another number": (NEXT._replace(producer_epoch=3), None, {"producer_epoch": 3}),
    "an older epoch": (NEXT._replace(producer_epoch=1), None, {"producer_epoch": 1}),
    "an epoch that a marker ended": (NEXT, Ended(41, 3, 6000, 3), {"producer_epoch": 2}),
    "an epoch that began after the marker": (NEXT, Ended(40, 3, 6000, 3), {}),
}


@pytest.mark.parametrize(("there", "marker", "expected"), FOLLOWING.values(), ids=FOLLOWING)
def test_the_first_batch_after_a_snapshot_follows_its_entry(
    there: Written, marker: Ended | None, expected: object
) -> None:
    found = claims(SILENT, complete=False, start=100, following={7: (there, marker)})
    assert wrong(found) == expected
    assert claims(SILENT, complete=False, start=100, following={8: (there, marker)}) == []


NAMED = Named(7, 2, 19, 4, False, True)


@pytest.mark.parametrize("compacted", [True, False])
def test_of_a_log_with_gaps_only_what_is_left_proves_something(compacted: bool) -> None:
    def found(entry: ProducerState, named: Named = NAMED, last: Producer | None = None) -> list[Finding]:
        shown = compacted and last is not None
        return claims(entry, last=last, known=shown, named={entry.last_offset: named}, compacted=compacted)

    assert found(ENTRY) == []
    for field in ("producer_epoch", "last_sequence", "offset_delta"):
        assert wrong(found(differs(ENTRY, **{field: 1}))) == {field: getattr(ENTRY, field)}
    for field in ("timestamp", "coordinator_epoch"):
        assert found(differs(ENTRY, **{field: 1})) == []
    control = NAMED._replace(control=True)
    assert found(differs(ENTRY, producer_epoch=1), control) == []
    assert claims(differs(ENTRY, producer_epoch=1), known=False, compacted=compacted) == []
    if compacted:
        for last in (Producer(DATA, None), Producer(None, LATER_MARKER), Producer(DATA._replace(base_offset=84), None)):
            assert found(ENTRY, last=last) == []
        later = Producer(DATA._replace(base_offset=86), None)
        assert wrong(found(ENTRY, last=later)) == {"last_offset": 90}
        assert wrong(found(ENTRY._replace(last_offset=0), last=later)) == {"last_offset": 90}
        assert found(ENTRY._replace(last_offset=-1), last=later) == []
        assert claims(ENTRY, complete=True, compacted=True) == []


def test_whose_batch_a_snapshot_names() -> None:
    for named, said in (
        (NAMED._replace(producer_id=8), "wrote offset 89; in the log producer 8 did"),
        (NAMED._replace(exact=False), "wrote a batch that ends with offset 89; the log has none that ends there"),
    ):
        (found,) = claims(ENTRY, last=Producer(DATA, EARLIER_MARKER), named={89: named})
        assert placed(found) == ("KX407", 0, 10, 10 + WIDTH, None, ENTRY._asdict())
        assert found.message.endswith(said)
    assert claims(ENTRY, last=Producer(DATA, EARLIER_MARKER), named={89: NAMED}) == []
    assert claims(ENTRY, last=Producer(DATA, EARLIER_MARKER), named={88: NAMED._replace(producer_id=8)}) == []


def test_a_snapshot_cannot_know_of_what_comes_after_it() -> None:
    for field, said in (("last_offset", "last wrote offset 100"), ("current_txn_first_offset", "open from offset 100")):
        assert claims(ENTRY._replace(**{field: 99}), known=False) == []
        entry = ENTRY._replace(**{field: 100})
        (found,) = claims(entry, known=False)
        assert placed(found) == ("KX407", 0, 10, 10 + WIDTH, None, entry._asdict())
        assert said in found.message


def test_a_snapshot_past_the_logs_end() -> None:
    assert claims(ENTRY, known=False, log_end=100) == []
    (found,) = claims(ENTRY, log_end=99)
    assert placed(found) == ("KX407", None, None, None, "<= 99", 100)
    assert found.message.endswith("the log ends with offset 98")


def test_open_transactions_are_listed() -> None:
    other = ENTRY._replace(producer_id=8, current_txn_first_offset=33)
    assert claims(other, known=False, open_={8: 33}) == []
    assert [f.expected for f in claims(other, known=False, open_={8: 34})] == [{"current_txn_first_offset": 34}]
    assert [f.expected for f in claims(other, known=False, open_={})] == [{"current_txn_first_offset": -1}]
    assert claims(other, known=False, open_=None) == []
    (found,) = claims(ENTRY, known=False, open_={8: 33})
    expected = {"producer_id": 8, "current_txn_first_offset": 33}
    assert placed(found) == ("KX407", None, None, None, expected, None)


def test_the_entry_that_is_wrong_is_named_by_its_slot_and_bytes() -> None:
    second = ENTRY._replace(last_offset=100)
    (found,) = claims(ENTRY, second, known=False)
    assert (found.slot, found.byte_start, found.byte_end) == (1, 10 + WIDTH, 10 + 2 * WIDTH)


def sealed(version: int, count: int, entries: bytes) -> bytes:
    covered = pack(">i", count) + entries
    return pack(">hI", version, crc32c(covered)) + covered


def test_a_snapshot_that_is_not_what_it_says(copy: Copy) -> None:
    path = max(copy("clean/txn-0").glob("*.snapshot"))
    entries = path.read_bytes()[10:]
    count = len(entries) // WIDTH
    size = len(entries) + 10
    assert count > 1

    def found(data: bytes) -> list[Finding]:
        path.write_bytes(data)
        return [f for f in check(path.parent).findings if f.rule == "KX406"]

    assert found(sealed(1, count, entries)) == []
    for data, expected in (
        (sealed(2, count, entries), ("KX406", None, None, None, 1, 2)),
        (sealed(0, count, entries), ("KX406", None, None, None, 1, 0)),
        (sealed(1, count + 1, entries), ("KX406", None, None, None, count + 1, count)),
        (sealed(1, count, entries[:-1]), ("KX406", None, None, None, count, count - 1)),
        (sealed(1, -1, b""), ("KX406", None, None, None, -1, 0)),
    ):
        (one,) = found(data)
        assert (placed(one), one.severity) == (expected, ERROR)
    (one,) = found(sealed(1, count, entries + b"\0\0\0"))
    assert (placed(one), one.severity) == (("KX406", None, size, size + 3, None, 3), WARNING)
    assert "3 bytes follow" in one.message
    assert len(parse_snapshot(path.read_bytes()).producers) == count
