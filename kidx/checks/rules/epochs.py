"""Leader epochs of batches: they never fall, and leader-epoch-checkpoint has the same ones."""

from __future__ import annotations

import numpy as np

from kidx.checks.rule import check
from kidx.checks.subjects.logs import Batches, Bools, RangeBorder
from kidx.checks.texts import FETCH_AGAIN
from kidx.findings import ERROR, Finding, Rule

EPOCH_ORDER = Rule(
    code="KX404",
    name="epoch-order",
    severity=ERROR,
    title="A batch has a smaller leader epoch than one before it",
    broker=(
        "Not checked when loading. Replicas truncate by leader epochs when a leader changes (KIP-101): with epochs "
        "out of order they may cut too much, or keep what differs."
    ),
    story=(
        "Epochs rise with every new leader. The epoch is outside the CRC, so overwritten bytes look the same as "
        "batches from two histories in one log."
    ),
    repair=FETCH_AGAIN,
)

EPOCH_MISMATCH = Rule(
    code="KX405",
    name="epoch-mismatch",
    severity=ERROR,
    title="A batch's leader epoch is not the one that leader-epoch-checkpoint gives for its offset",
    broker=(
        "Brokers trust the checkpoint when a leader changes (KIP-101): a replica may truncate at a wrong offset, and "
        "lose or keep records that the others do not have."
    ),
    story=(
        "leader-epoch-checkpoint says from which offset on an epoch holds; every batch carries its own. They differ "
        "where the file was restored from elsewhere, edited or lost lines, or the batch's epoch, which no CRC "
        "covers, was overwritten. A broker rebuilds the lines of segments that it recovers."
    ),
)


def order_finding(batches: Batches, row: int) -> Finding:
    """The finding about one row."""
    rows, epochs = batches.epochs
    at = int(rows.searchsorted(row))
    before = int(epochs[at - 1]) if at else batches.before.last_epoch
    text = f"its leader epoch is {epochs[at]}, but epoch {before} came before it"
    return batches.finding(EPOCH_ORDER, row, text, expected=f">= {before}", found=int(epochs[at]))


@check(Batches, EPOCH_ORDER, finding=order_finding)
def epoch_order(batches: Batches) -> Bools | None:
    """Good batches whose epoch is smaller than the one before, bool, shape (n,); an epoch of -1 proves nothing."""
    epoch = batches.one_epoch
    if epoch is not None and (epoch < 0 or epoch >= batches.before.last_epoch):
        return None
    rows, epochs = batches.epochs
    wrong = np.zeros(len(batches), bool)
    wrong[rows[epochs < np.concatenate(([batches.before.last_epoch], epochs[:-1]))]] = True
    return wrong


@check(RangeBorder, EPOCH_ORDER)
def order_across(border: RangeBorder) -> list[Finding] | None:
    """The same of the first epoch of a range."""
    epoch, before, start = border.after.first_epoch, border.before.last_epoch, border.after.start
    if not 0 <= epoch < before:
        return None
    text = f"from byte {start} on the leader epoch is {epoch}, but epoch {before} came before it"
    span = start, start + 16
    return [EPOCH_ORDER.finding(border.path, text, span=span, expected=f">= {before}", found=epoch)]


def mismatch_finding(batches: Batches, row: int) -> Finding:
    """The finding about one row."""
    known, starts = batches.facts.epochs
    line = int(np.searchsorted(starts, int(batches.column("base_offset")[row]), "right")) - 1
    epoch = int(batches.column("leader_epoch")[row])
    text = f"its leader epoch is {epoch}; leader-epoch-checkpoint says {known[line]} from offset {starts[line]} on"
    return batches.finding(EPOCH_MISMATCH, row, text, expected=known[line], found=epoch)


@check(Batches, EPOCH_MISMATCH, finding=mismatch_finding)
def epoch_mismatch(batches: Batches) -> Bools | None:
    """Good batches of another epoch than leader-epoch-checkpoint's for their offset, bool, shape (n,).

    In a live directory a leader may have come since that file was read: later epochs are no finding then.
    """
    if not batches.facts.epochs or batches.one_epoch == -1:
        return None
    known, starts = (np.array(numbers, np.int64) for numbers in batches.facts.epochs)
    if batches.contiguous:
        ends = starts.searchsorted(batches.column("base_offset")[[0, -1]], "right") - 1
        if ends[0] == ends[1] and (ends[0] < 0 or int(known[ends[0]]) == batches.one_epoch):
            return None
    rows, epochs = batches.epochs
    lines = starts.searchsorted(batches.column("base_offset")[rows], "right") - 1
    differ = (lines >= 0) & (known[np.maximum(lines, 0)] != epochs)
    if batches.facts.live:
        differ &= epochs <= known[-1]
    wrong = np.zeros(len(batches), bool)
    wrong[rows[differ]] = True
    return wrong
