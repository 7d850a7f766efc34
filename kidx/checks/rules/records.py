"""Records that cannot be decoded, and control records that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.checks.rule import BATCH, check
from kidx.checks.subjects.logs import Batches
from kidx.findings import ERROR, Finding, Rule
from kidx.formats.records import Damage

RECORD_DAMAGE = Rule(
    code="KX308",
    name="record-damage",
    severity=ERROR,
    title="A batch's records cannot be decoded, or do not fit its header",
    broker=(
        "Brokers do not decode the batches that they serve: consumers fail on it at every attempt. The log cleaner "
        "dies on it, and compaction of the whole disk stops until the broker is restarted (since 1.1: of this "
        "partition)."
    ),
    story=(
        "Found with --deep only, except in control batches, whose types are always checked, and in compressed messages "
        "before v2, which are inflated for their offsets. The CRC holds, so the batch was written like this: a broken "
        "client or compression library, or a tool that wrote the log."
    ),
    repair="have consumers seek past the batch, or delete records up to it (kafka-delete-records)",
)


def damage_finding(batches: Batches, found: tuple[int, Damage]) -> Finding:
    """The finding about a row's records."""
    row, damage = found
    return batches.finding(RECORD_DAMAGE, row, damage.why, found=damage.kind)


@check(Batches, RECORD_DAMAGE, finding=damage_finding, distrust=BATCH)
def not_inflated(batches: Batches) -> list[tuple[int, Damage]] | None:
    """Compressed messages before v2 that cannot be inflated; with --deep, damaged_records finds them."""
    return None if batches.facts.deep else batches.not_inflated or None


@check(Batches, RECORD_DAMAGE, distrust=BATCH)
def damaged_markers(batches: Batches) -> Iterator[Finding] | None:
    """Control batches of an undefined type, or whose record cannot be read."""
    found = batches.transactions
    return _damaged_markers(batches) if found.unknown or found.unreadable or found.damaged else None


def _damaged_markers(batches: Batches) -> Iterator[Finding]:
    found = batches.transactions
    for row, marker in found.unknown:
        text = "has no type in its key" if marker is None else f"is of type {marker}, which does not exist"
        yield batches.finding(RECORD_DAMAGE, row, f"its control record {text}", found=marker)
    for row, name in found.unreadable:
        yield batches.finding(
            RECORD_DAMAGE, row, f"its control record is {name}, and its value cannot be read", found=name
        )
    for row, damage in found.damaged:
        if not batches.facts.deep:
            yield damage_finding(batches, (row, damage))


@check(Batches, RECORD_DAMAGE, finding=damage_finding, distrust=BATCH)
def damaged_records(batches: Batches) -> list[tuple[int, Damage]] | None:
    """Batches with a sound CRC whose records cannot be decoded; of --deep only."""
    damage = batches.record_damage
    return [(row, one) for row, one in damage if not one.limit and batches.good[row]] if damage else None
