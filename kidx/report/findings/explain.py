"""Rules as kidx explain shows them: as rows, as a list, and one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import IO

from kidx.findings import Rule
from kidx.tables.table import TEXT, Column, Table

_WIDTH = 80
# The columns of kidx.rule.v1, and the fields of Rule that they show.
_FIELDS = {name: name for name in ("code", "name", "severity", "title", "broker", "story")} | {"mend": "repair"}


def rules_table(rules: Iterable[Rule]) -> Table:
    """Rules as rows of kidx.rule.v1."""
    rows = ([getattr(rule, field) or None for field in _FIELDS.values()] for rule in rules)
    return Table("kidx.rule.v1", [Column(name, TEXT) for name in _FIELDS], rows)


def render_rule_list(rules: Sequence[Rule], out: IO[str] | None = None) -> None:
    """Write one line for each rule."""
    out = out or sys.stdout
    width = max(len(rule.name) for rule in rules)
    for rule in rules:
        out.write(f"{rule.code}  {rule.severity:<7}  {rule.name:<{width}}  {rule.title}\n")


def render_rules(rules: Sequence[Rule], out: IO[str] | None = None) -> None:
    """Write each rule with its title, its explanation, what a broker does, and the repair."""
    out = out or sys.stdout
    for number, rule in enumerate(rules):
        out.write(("\n" if number else "") + f"{rule.code} {rule.name} ({rule.severity})\n{rule.title}.\n")
        parts = [("What happened, and what to do", rule.story), ("What a broker does", rule.broker)]
        if rule.repair:
            parts.append(("Repair", rule.repair))
        for title, text in parts:
            lines = wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
            out.write(f"\n{title}:\n" + "\n".join(lines) + "\n")
