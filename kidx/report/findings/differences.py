"""Differences between replicas, as rows of kidx.difference.v1 and as the screen of kidx diff."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, Any

from kidx.findings import Coverage
from kidx.report.findings.verdict import covered
from kidx.tables.table import BOOL, TEXT, TREE, Column, Table
from kidx.text.quantities import counted

COLUMNS = (
    Column("what", TEXT),
    Column("where", TEXT),
    Column("left", TREE),
    Column("right", TREE),
    Column("allowed", BOOL),
)


def differences_table(rows: Sequence[Sequence[Any]], summary: dict[str, Any]) -> Table:
    """Differences (what, where, left, right, allowed) as rows of kidx.difference.v1."""
    return Table("kidx.difference.v1", COLUMNS, rows, summary)


def render_differences(
    rows: Sequence[Sequence[Any]], coverage: Coverage, *, every: bool, out: IO[str] | None = None
) -> None:
    """Write the verdict, the differences that healthy replicas do not have, and what was compared.

    `every` shows the allowed differences too.
    """
    out = out or sys.stdout
    wrong = [row for row in rows if not row[4]]
    out.write(_verdict(len(wrong), len(rows) - len(wrong)) + "\n")
    for what, where, left, right, allowed in rows if every else wrong:
        out.write(
            f"\n{'allowed' if allowed else 'DIFFERS'}  {what}  {where}\n        left   {left}\n        right  {right}\n"
        )
    out.write(("\n" if (rows if every else wrong) else "") + covered(coverage) + "\n")


def _verdict(forbidden: int, allowed: int) -> str:
    if not forbidden and not allowed:
        return "no differences"
    if not forbidden:
        return f"no differences but {allowed:,} that healthy replicas may have"
    rest = f", and {allowed:,} that they may have" if allowed else ""
    return f"{counted(forbidden, 'difference')} that healthy replicas do not have{rest}"
