"""Differences of two replicas as a table of kidx.difference.v1 rows, and as a screen."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, Any

from kidx.findings import Coverage
from kidx.report.findings.verdict import covered
from kidx.tables.table import BOOL, TEXT, TREE, Column, Table

COLUMNS = (
    Column("what", TEXT),
    Column("where", TEXT),
    Column("left", TREE),
    Column("right", TREE),
    Column("allowed", BOOL),
)


def differences_table(rows: Sequence[Sequence[Any]], summary: dict[str, Any]) -> Table:
    """The table that every common format renders."""
    return Table("kidx.difference.v1", COLUMNS, rows, summary)


def render_differences(
    rows: Sequence[Sequence[Any]], coverage: Coverage, *, every: bool, out: IO[str] | None = None
) -> None:
    """The verdict, the differences that may not be (with `every`, the others too), and what was compared."""
    out = out or sys.stdout
    wrong = [row for row in rows if not row[4]]
    fine = len(rows) - len(wrong)
    rest = f"{fine} that may be" if fine else "none that may be either"
    out.write(f"{len(wrong)} difference{'' if len(wrong) == 1 else 's'} that may not be, {rest}\n")
    for what, where, left, right, allowed in rows if every else wrong:
        out.write(
            f"\n{'may be' if allowed else 'DIFFERS'}  {what}  {where}\n        left   {left}\n        right  {right}\n"
        )
    out.write(("\n" if (rows if every else wrong) else "") + covered(coverage) + "\n")
