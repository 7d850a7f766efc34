"""Differences of replicas: the table of kidx.difference.v1 rows, and the screen of `kidx diff`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import IO, Any

from kidx.checks.replicas.comparison import Comparison, Difference
from kidx.report.findings.verdict import covered
from kidx.tables.table import BOOL, TEXT, TREE, Column, Table
from kidx.text.escaping import plain
from kidx.text.quantities import counted

_COLUMNS = (
    Column("what", TEXT),
    Column("where", TEXT),
    Column("left", TREE),
    Column("right", TREE),
    Column("allowed", BOOL),
)
_SIDES = (Column("left_path", TEXT), Column("right_path", TEXT))
_OF_THE_LOG = ("leader_epoch", "record", "batch", "batch_records", "batches")
_OF_A_RECORD = {
    "timestamp": "timestamp",
    "key_length": "key bytes",
    "value_length": "value bytes",
    "headers": "headers",
}


def differences_table(rows: Sequence[Difference], summary: dict[str, Any], *, sides: int = 2) -> Table:
    """The table that every common format renders; with more than two sides it has the two sides' paths, too."""
    if sides > 2:
        return Table("kidx.difference.v1", _COLUMNS + _SIDES, [(*row[:5], *row[7:]) for row in rows], summary)
    return Table("kidx.difference.v1", _COLUMNS, [row[:5] for row in rows], summary)


def render_differences(
    comparison: Comparison, paths: Sequence[str], *, every: bool, out: IO[str] | None = None
) -> None:
    """Write the screen: where each partition diverges and a summary, or with `every` each difference; then totals."""
    out = out or sys.stdout
    differing = 0
    for left, right, partition in comparison.partitions:
        counts = {
            what: n
            for (*place, what, allowed), n in comparison.counts.items()
            if not allowed and place == [left, right, partition]
        }
        if not counts:
            continue
        differing += 1
        found = [
            d for d in comparison.differences if (d.left_path, d.right_path, d.partition) == (left, right, partition)
        ]
        wrong = [d for d in found if not d.allowed]
        out.write(plain(_headline(wrong, (left, right, partition), len(paths))) + "\n")
        for what, count in counts.items():
            out.write(_summary_line(what, count, [d for d in wrong if d.what == what]))
    only = [d for d in comparison.differences if d.what == "partition"]
    for lone in only:
        if not lone.allowed:
            out.write(plain(f"{lone.partition} is only in {lone.left_path if lone.left else lone.right_path}") + "\n")
    out.write(_totals(comparison, differing, paths))
    for d in comparison.differences if every else ():
        mark = "allowed" if d.allowed else "DIFFERS"
        pair = f" ({d.left_path}, {d.right_path})" if len(paths) > 2 else ""
        where = plain(f"{d.what}  {d.where}{pair}")
        out.write(f"\n{mark}  {where}\n        left   {d.left}\n        right  {d.right}\n")
    out.write(("\n" if every and comparison.differences else "") + covered(comparison.checked.coverage) + "\n")


def _headline(wrong: Sequence[Difference], place: tuple[str, str, str], sides: int) -> str:
    left, right, partition = place
    here, there, verb = "here", "there", "s"
    subject = partition
    if sides > 2:
        here, there, verb = f"in {left}", f"in {right}", ""
        subject = " ".join(filter(None, (partition + ":" if partition else "", f"{left} and {right}")))
    in_log = [d for d in wrong if d.what in _OF_THE_LOG and d.offset is not None]
    if in_log:
        first = min(in_log, key=lambda d: (d.offset, _OF_THE_LOG.index(d.what)))
        return f"{subject} diverge{verb} at offset {first.offset}: {_reason(first, here, there)}".strip()
    kinds = ", ".join(dict.fromkeys(d.what for d in wrong))
    return f"{subject} differ{verb} in {kinds}".strip()


def _reason(first: Difference, here: str, there: str) -> str:
    left, right = first.left, first.right
    if first.what == "leader_epoch":
        return f"leader epoch {left} {here}, {right} {there}"
    if first.what == "batches":
        counts = [counted(n, "batch", "batches") if n else "none" for n in (left, right)]
        return f"{counts[0]} {here}, {counts[1]} {there}"
    if first.what == "batch_records":
        return f"a batch of {left['count']} records {here}, of {right['count']} {there}"
    if first.what == "batch":
        bad = [place for place, side in ((here, left), (there, right)) if not side["crc_ok"]]
        return f"a batch with a wrong CRC {' and '.join(bad)}" if bad else "a batch that cannot be decoded"
    field = next((f for f in _OF_A_RECORD if left[f] != right[f]), None)
    if field is None:
        return "other content in the record"
    return f"a record with {_OF_A_RECORD[field]} {left[field]} {here}, {right[field]} {there}"


def _summary_line(what: str, count: int, kept: Sequence[Difference]) -> str:
    offsets = [d.offset for d in kept if d.offset is not None]
    if count == 1:
        place = f"left {kept[0].left}, right {kept[0].right}" if what not in _OF_THE_LOG else f"offset {offsets[0]}"
        return f"    DIFFERS  {plain(kept[0].where if what not in _OF_THE_LOG else what)}: {plain(place)}\n"
    span = f", offsets {min(offsets)}-{max(offsets)}" if offsets else f", first {kept[0].where}"
    return f"    DIFFERS  {what}: {count:,} times{plain(span)}\n"


def _totals(comparison: Comparison, differing: int, paths: Sequence[str]) -> str:
    numbers = {True: 0, False: 0}
    for (*_, what, allowed), n in comparison.counts.items():
        numbers[allowed] += n if what != "partition" else 0
    forbidden, fine = numbers[False], numbers[True]
    unit, units = ("partition", "partitions") if len(paths) == 2 else ("pair of replicas", "pairs of replicas")
    of = f" in {differing:,} of {counted(len(comparison.partitions), unit, units)}" if differing else ""
    lines = [
        f"{counted(forbidden, 'difference')} that healthy replicas do not have{of}" if forbidden else "no differences"
    ]
    if fine:
        lines[0] += (
            f", and {fine:,} that they may have" if forbidden else f" but {fine:,} that healthy replicas may have"
        )
        lines[0] += " (--all lists them)"
    for path in paths:
        lone = Counter(d.partition for d in comparison.differences if d.what == "partition" and _only_in(d) == path)
        if lone:
            names = ", ".join(sorted(lone)[:10]) + (f" and {len(lone) - 10} more" if len(lone) > 10 else "")
            lines.append(f"not on every side, but in {path}: {names}")
    alone = _standing_alone(comparison, paths)
    if alone is not None:
        lines.append(f"{alone} stands alone: the other {len(paths) - 1} agree")
    return "".join(plain(line) + "\n" for line in lines)


def _only_in(d: Difference) -> str:
    return d.left_path if d.left else d.right_path


def _standing_alone(comparison: Comparison, paths: Sequence[str]) -> str | None:
    """The one side that differs from all others while these agree; None where there is no such side."""
    pairs = {(left, right) for left, right, *_, allowed in comparison.counts if not allowed}
    if len(paths) < 3 or not pairs:
        return None
    return next((p for p in paths if len(pairs) == len(paths) - 1 and all(p in pair for pair in pairs)), None)
