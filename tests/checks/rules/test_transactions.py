"""Aborted transactions against their index, open ones, and batches outside their producer's transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kidx.checks.engine.discovery import findings_about
from kidx.checks.subjects.partitions import OpenTransaction, OpenTransactions, SegmentTransactions
from kidx.checks.subjects.producers import Producers, Written
from kidx.checks.subjects.transactions import Aborted, TransactionEvent
from kidx.findings import ERROR, NOTE, Finding, limited
from kidx.formats.batches import HEADER_BYTES, TRANSACTIONAL_BIT
from kidx.formats.control import COMMIT
from tests import damage
from tests.checks.conftest import check, grave, placed
from tests.checks.rules.test_batches import sealed
from tests.checks.test_log_damage import batches

Copy = Callable[[str], Path]
WIDTH = 34
ABORTED = Aborted(7, 10, 20, 11, True)
LISTED = (3, (0, 7, 10, 20, 11))  # slot; version, producer, first, last and last stable offset


def segment(
    entries: Sequence[tuple[int, tuple[int, ...]]] = (),
    aborted: Sequence[Aborted] = (),
    index: str | None = "x.txnindex",
    compacted: bool = False,
    ranges: Sequence[Producers] = (),
    events: Sequence[TransactionEvent] = (),
    open_before: dict[int, int] | None = None,
) -> list[Finding]:
    """What is found in a segment's transactions."""
    subject = SegmentTransactions(
        "x.log", index, entries, aborted, ranges, events, open_before or {}, compacted
    )  # fmt: skip
    return list(limited(findings_about(subject)))


def test_an_abort_is_listed() -> None:
    assert segment([LISTED], [ABORTED]) == []
    for index, file, said in (
        ("x.txnindex", "x.txnindex", "the transaction index does not list it"),
        (None, "x.log", "there is no transaction index"),
    ):
        (found,) = segment([], [ABORTED], index)
        assert placed(found) == ("KX401", None, None, None, ABORTED._asdict(), None)
        assert (found.file, found.severity) == (file, ERROR)
        assert said in found.message and "of producer 7 at offset 20" in found.message
    assert segment([], [ABORTED._replace(written=False)]) == []
    assert segment([], [ABORTED], compacted=True) == []
    assert [f.expected for f in segment([LISTED], [ABORTED, ABORTED._replace(last_offset=30)])] == [
        ABORTED._replace(last_offset=30)._asdict()
    ]


LISTINGS: dict[str, tuple[tuple[int, ...], Aborted, bool, str | None]] = {
    "as in the log": ((0, 7, 10, 20, 11), ABORTED, True, None),
    "another producer": ((0, 8, 10, 20, 11), ABORTED, True, "no such marker"),
    "another first offset": ((0, 7, 9, 20, 11), ABORTED, False, "began at offset 9; in the log it begins at 10"),
    "a first offset that is not known": ((0, 7, 9, 20, 11), ABORTED._replace(first_offset=None), False, None),
    "another stable offset": ((0, 7, 10, 20, 12), ABORTED, False, "was 12 at the marker; by the log it was 11"),
    "a stable offset that is not known": ((0, 7, 10, 20, 12), ABORTED._replace(last_stable_offset=None), False, None),
}


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize(("fields", "there", "even_compacted", "said"), LISTINGS.values(), ids=LISTINGS)
def test_a_listed_abort(
    fields: tuple[int, ...], there: Aborted, even_compacted: bool, said: str | None, compacted: bool
) -> None:
    found = segment([(3, fields)], [there], compacted=compacted)
    if said is None or (compacted and not even_compacted):
        assert found == []
        return
    names = ("producer_id", "first_offset", "last_offset", "last_stable_offset")
    (one,) = found
    assert placed(one) == (
        "KX402", 3, 3 * WIDTH, 4 * WIDTH, there._asdict(), dict(zip(names, fields[1:], strict=True))
    )  # fmt: skip
    assert (one.file, one.severity) == ("x.txnindex", ERROR)
    assert said in one.message


def test_a_listed_abort_that_no_marker_ends() -> None:
    for compacted in (False, True):
        (found,) = segment([LISTED], [], compacted=compacted)
        assert (found.rule, found.slot, found.expected) == ("KX402", 3, None)
    # An entry that is wrong does not end the search.
    wrong = (4, (0, 8, 10, 30, 11))
    assert [f.slot for f in segment([LISTED, wrong, (5, (0, 9, 30, 40, 31))], [ABORTED])] == [4, 5]


def test_open_transactions_are_notes() -> None:
    found = list(limited(findings_about(OpenTransactions("x.log", [OpenTransaction(5, 7), OpenTransaction(6, 8)]))))
    assert [(f.rule, f.file, f.severity, f.found) for f in found] == [
        ("KX403", "x.log", NOTE, {"producer_id": producer, "first_offset": first})
        for first, producer in ((5, 7), (6, 8))
    ]


def outside(producer: int) -> tuple[object, object]:
    return tuple({"producer_id": producer, "transactional": bit} for bit in (True, False))  # type: ignore[return-value]


def test_a_batch_outside_the_transaction_that_its_producer_has_open(copy: Copy) -> None:
    log = sorted(copy("clean/plain-0").glob("*.log"))[-1]
    mine = [b for b in batches(log) if b.producer_id >= 0]
    first = mine[0]
    after = next(b for b in mine[1:] if b.producer_id == first.producer_id)
    sealed(attributes=first.attributes | TRANSACTIONAL_BIT)(log, first)
    found = next(f for f in check(log).findings if f.rule == "KX409")
    span = (after.position, after.position + HEADER_BYTES)
    assert placed(found) == ("KX409", None, *span, *outside(first.producer_id))
    assert (found.file, found.severity) == (str(log), ERROR)


def ranges(*first: Written) -> list[Producers]:
    made = []
    for there in first:
        made.append(Producers())
        made[-1].first[there.producer_id] = (there, None)
    return made


BATCH = Written(7, 0, 5, 1, 300, 0, 2222)
BEGAN = TransactionEvent(10, 7, 100, None, None)


def test_the_first_batch_of_a_range_outside_a_transaction_of_an_earlier_one() -> None:
    (found,) = segment(ranges=ranges(BATCH), events=[BEGAN])
    assert placed(found) == ("KX409", None, 2222, 2222 + HEADER_BYTES, *outside(7))
    assert (found.file, found.message.rpartition(" ")[2]) == ("x.log", "100")
    assert segment(ranges=ranges(BATCH), events=[BEGAN._replace(offset=300)]) == []
    assert segment(ranges=ranges(BATCH), events=[BEGAN._replace(offset=301)]) == []
    ended = BEGAN._replace(offset=200, marker=COMMIT)
    assert segment(ranges=ranges(BATCH), events=[BEGAN, ended]) == []
    assert len(segment(ranges=ranges(BATCH), events=[BEGAN, ended, BEGAN._replace(offset=250)])) == 1
    assert segment(ranges=ranges(BATCH), events=[BEGAN._replace(producer_id=8)]) == []
    assert len(segment(ranges=ranges(BATCH), open_before={7: 0})) == 1
    assert segment(ranges=ranges(BATCH), events=[BEGAN._replace(offset=300)], open_before={7: 0}) == []
    # Producers whose batch is inside do not hide others.
    other = BATCH._replace(producer_id=8)
    marked = ranges(BATCH, other)
    marked[0].first[7] = (BATCH, object())  # type: ignore[assignment]
    assert [f.found["producer_id"] for f in segment(ranges=marked, open_before={7: 0, 8: 0})] == [8]  # type: ignore[index]
    both = ranges(BATCH)
    both[0].first = {7: (BATCH, object()), 8: (other, None)}  # type: ignore[dict-item]
    assert [f.found["producer_id"] for f in segment(ranges=both, open_before={7: 0, 8: 0})] == [8]  # type: ignore[index]


@pytest.mark.parametrize("verb", [damage.flip_byte, None])
def test_a_damaged_batch_is_not_outside(copy: Copy, verb: Callable[[Path, int], object] | None) -> None:
    log = sorted(copy("clean/plain-0").glob("*.log"))[-1]
    first, *others = batches(log)
    sealed(attributes=first.attributes | TRANSACTIONAL_BIT)(log, first)
    if verb:
        for one in others:
            verb(log, one.position + 18)
    assert ("KX409" in {f.rule for f in grave(check(log))}) == (verb is None)
