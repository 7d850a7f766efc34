"""The end of `kidx verify --suggest`: what repairs each finding, and what deleting the index would cost instead."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

from kidx.evidence import exists
from kidx.findings import Finding, Rule
from kidx.logdir.log_dir import META_PROPERTIES
from kidx.report.formats.render import render
from kidx.surgery.advice import shell_word
from kidx.tables.table import INT, TEXT, Column, Table
from kidx.text.escaping import plain
from kidx.text.quantities import counted, size_text

_SCHEMA = "kidx.suggestion.v1"
_COLUMNS = (
    Column("rule", TEXT),
    Column("severity", TEXT),
    Column("file", TEXT),
    Column("findings", INT),
    Column("command", TEXT),
    Column("advice", TEXT),
    Column("reread_bytes", INT, "bytes"),
    Column("reread_partition_bytes", INT, "bytes"),
)

Row = Mapping[str, Any]  # the names of _COLUMNS


def suggest_repairs(findings: Sequence[Finding], rules: Mapping[str, Rule], form: str) -> None:
    """Write what repairs these findings to standard output: see render_suggestions."""
    from kidx.state.metadata import cluster_of
    from kidx.surgery.advice import suggest
    from kidx.surgery.index_interval import IntervalFinder

    render_suggestions(suggest(findings, rules, IntervalFinder(cluster_of)), rules, form)


def render_suggestions(
    suggestions: Sequence[Sequence[Any]], rules: Mapping[str, Rule], form: str, out: IO[str] | None = None
) -> None:
    """Write suggestions (rows with the columns of kidx.suggestion.v1) to `out` (standard output) as text or jsonl."""
    if form == "text":
        names = [column.name for column in _COLUMNS]
        _screen([dict(zip(names, row, strict=True)) for row in suggestions], rules, out or sys.stdout)
    else:
        render(Table(_SCHEMA, _COLUMNS, suggestions), form, out)


def _screen(suggestions: Sequence[Row], rules: Mapping[str, Rule], out: IO[str]) -> None:
    """First each command with all that it repairs, then what no command repairs."""
    by_command: dict[str | None, list[Row]] = {}
    for suggestion in suggestions:
        by_command.setdefault(suggestion["command"], []).append(suggestion)
    others = by_command.pop(None, [])
    if by_command:
        out.write("\nRepair, with the broker stopped (kidx undo reverts it):\n")
    for command, repaired in by_command.items():
        out.write(f"  {command}\n")
        for suggestion in repaired:
            out.write(f"      {_named(suggestion, rules)}\n")
        out.write(_alternative(repaired[0]))
    if others:
        out.write("\nNo kidx command repairs:\n")
    for suggestion in others:
        advice = suggestion["advice"] or f"see kidx explain {suggestion['rule']}"
        out.write(f"  {_named(suggestion, rules)}\n      {advice}\n")
    log_dirs = _log_dirs_of(suggestions)
    if log_dirs:
        out.write("\nWhat the broker would do with the files as they are:\n")
        out.write(f"  kidx startup {' '.join(map(shell_word, log_dirs))}\n")


def _log_dirs_of(suggestions: Sequence[Row]) -> list[str]:
    """The log dirs that the files belong to: those with a meta.properties."""
    above = dict.fromkeys(os.path.dirname(os.path.dirname(row["file"])) for row in suggestions)
    return [each for each in above if exists(os.path.join(each, META_PROPERTIES))]


def _named(suggestion: Row, rules: Mapping[str, Rule]) -> str:
    times = f" ({counted(suggestion['findings'], 'time')})" if suggestion["findings"] > 1 else ""
    return f"{suggestion['rule']} {rules[suggestion['rule']].name}  {plain(suggestion['file'])}{times}"


def _alternative(suggestion: Row) -> str:
    segment, partition = suggestion["reread_bytes"], suggestion["reread_partition_bytes"]
    if segment is None:
        return ""
    text = (
        f"      alternative: delete the segment's indexes and restart; the broker then reads {size_text(segment)} of\n"
        "      log before it serves the partition"
    )
    if partition is not None and partition > segment:
        text += f", or {size_text(partition)} if all its indexes are deleted"
    return text + "\n"
