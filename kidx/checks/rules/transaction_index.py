"""What a transaction index's entries say by themselves."""

from __future__ import annotations

from collections.abc import Callable

from kidx.checks.rule import FIELDS, ORDER, check
from kidx.checks.subjects.indexes import Bools, TransactionEntries
from kidx.checks.texts import CONFIRM_BY_REBUILD, REBUILD
from kidx.findings import ERROR, Finding, Rule

TRANSACTION_VERSION = Rule(
    code="KX115",
    name="transaction-version",
    severity=ERROR,
    title="A transaction index entry has an unknown version",
    broker=(
        'Every version throws a KafkaException on a version above 0 ("Unexpected aborted transaction version"): '
        "loading the log fails at start, and so does every read_committed fetch that reaches the entry."
    ),
    story=(
        "The format has had version 0 since 0.11. Another number is overwritten data, or an entry that does not "
        "start where it should: after a torn entry (KX101) in the middle of a file all later ones are shifted. "
        + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

TRANSACTION_OFFSETS = Rule(
    code="KX117",
    name="transaction-offsets",
    severity=ERROR,
    title="A transaction index entry's offsets contradict each other or the segment",
    broker=(
        "Every version checks at start that no last offset is below the base offset, and rebuilds the segment's "
        "indexes if one is. It does not check the other offsets: a wrong first or last offset hides records or shows "
        "aborted ones to read_committed consumers."
    ),
    story=(
        "A transaction's first offset is not after its last (its marker), the marker lies in this segment, and the "
        "last stable offset was at most the one after the marker, and never fell. An entry that breaks one of these "
        "was overwritten. Both offsets are the marker's where a broker of 1.0 to 2.4 rebuilt the index of a compacted "
        "segment that had lost all records of the transaction: that is healthy. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)


def _finding_of(rule: Rule, name: str, text: str, bound: str) -> Callable[[TransactionEntries, int], Finding]:
    """Makes findings about the field `name`; `text` and `bound` are patterns over the entry's fields."""

    def made(entries: TransactionEntries, row: int) -> Finding:
        fields = {key: int(values[row]) for key, values in entries.fields.items()}
        expected = bound.format(base=entries.facts.base_offset, **fields)
        return entries.finding(rule, row, text.format(**fields), expected=expected, found=fields[name])

    return made


@check(
    TransactionEntries,
    TRANSACTION_VERSION,
    finding=_finding_of(TRANSACTION_VERSION, "version", "its version is {version}; only version 0 exists", "0"),
    stage=FIELDS,
)
def unknown_version(entries: TransactionEntries) -> Bools:
    """Rows of another version than 0, bool, shape (n,)."""
    unknown: Bools = entries.fields["version"] != 0
    return unknown


@check(
    TransactionEntries,
    TRANSACTION_OFFSETS,
    finding=_finding_of(TRANSACTION_OFFSETS, "producer_id", "its producer id is {producer_id}; ids start at 0", ">= 0"),
    stage=FIELDS,
)
def negative_producer(entries: TransactionEntries) -> Bools:
    """Rows of a negative producer id, bool, shape (n,)."""
    return entries.fields["producer_id"] < 0


@check(
    TransactionEntries,
    TRANSACTION_OFFSETS,
    finding=_finding_of(
        TRANSACTION_OFFSETS, "first_offset", "its first offset is {first_offset}; offsets start at 0", ">= 0"
    ),
    stage=FIELDS,
)
def negative_first_offset(entries: TransactionEntries) -> Bools:
    """Rows of a negative first offset, bool, shape (n,)."""
    return entries.fields["first_offset"] < 0


@check(
    TransactionEntries,
    TRANSACTION_OFFSETS,
    finding=_finding_of(
        TRANSACTION_OFFSETS, "last_offset", "its last offset {last_offset} lies before the segment", ">= {base}"
    ),
    stage=FIELDS,
)
def ends_before_segment(entries: TransactionEntries) -> Bools:
    """Rows whose marker lies before the segment, bool, shape (n,)."""
    return entries.fields["last_offset"] < entries.facts.base_offset


@check(
    TransactionEntries,
    TRANSACTION_OFFSETS,
    finding=_finding_of(
        TRANSACTION_OFFSETS,
        "first_offset",
        "it begins at offset {first_offset} and ends at {last_offset}; its ABORT marker comes last",
        "<= {last_offset}",
    ),
    stage=FIELDS,
)
def begins_after_its_end(entries: TransactionEntries) -> Bools:
    """Rows whose first offset is after the last, bool, shape (n,): the marker comes after the records."""
    return entries.fields["first_offset"] > entries.fields["last_offset"]


@check(
    TransactionEntries,
    TRANSACTION_OFFSETS,
    finding=_finding_of(
        TRANSACTION_OFFSETS,
        "last_stable_offset",
        "its last stable offset {last_stable_offset} is not 0 to the one after the marker at {last_offset}",
        "<= {last_offset} + 1",
    ),
    stage=FIELDS,
)
def impossible_stable_offset(entries: TransactionEntries) -> Bools:
    """Rows whose last stable offset is negative or past the marker, bool, shape (n,)."""
    stable = entries.fields["last_stable_offset"]
    return (stable < 0) | (stable > entries.fields["last_offset"] + 1)


def stable_offset_finding(entries: TransactionEntries, row: int) -> Finding:
    """The finding about one row."""
    stable = entries.fields["last_stable_offset"]
    return entries.order_finding(TRANSACTION_OFFSETS, row, "last stable offset", stable, strict=False)


@check(TransactionEntries, TRANSACTION_OFFSETS, finding=stable_offset_finding, stage=ORDER)
def stable_offset_falls(entries: TransactionEntries) -> Bools | None:
    """Rows whose last stable offset is smaller than the one before, bool, shape (n,)."""
    return entries.disordered(entries.fields["last_stable_offset"], strict=False)
