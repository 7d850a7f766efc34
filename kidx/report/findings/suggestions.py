"""The end of `kidx verify --suggest`: what mends each finding, and what deleting the index would cost instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any

from kidx.findings import Rule
from kidx.report.findings.verdict import size_text
from kidx.tables.table import INT, TEXT, Column
from kidx.text.escaping import plain

COLUMNS = (
    Column("rule", TEXT),
    Column("severity", TEXT),
    Column("file", TEXT),
    Column("findings", INT),
    Column("command", TEXT),
    Column("advice", TEXT),
    Column("reread_bytes", INT, "bytes"),
    Column("reread_partition_bytes", INT, "bytes"),
)


Row = Mapping[str, Any]  # the names of COLUMNS


def render_suggestions(suggestions: Sequence[Row], rules: Mapping[str, Rule], out: IO[str]) -> None:
    """Write them: first each command with all that it mends, then what no command mends."""
    by_command: dict[str | None, list[Row]] = {}
    for one in suggestions:
        by_command.setdefault(one["command"], []).append(one)
    others = by_command.pop(None, [])
    if by_command:
        out.write("\nWhat mends it, with the broker stopped (kidx undo takes it back):\n")
    for command, mended in by_command.items():
        out.write(f"  {command}\n")
        for one in mended:
            out.write(f"      {_named(one, rules)}\n")
        out.write(_instead(mended[0]))
    if others:
        out.write("\nNo kidx command mends:\n")
    for one in others:
        advice = one["advice"] or f"kidx explain {one['rule']} tells what to make of it"
        out.write(f"  {_named(one, rules)}\n      {advice}\n")


def _named(one: Row, rules: Mapping[str, Rule]) -> str:
    times = f" ({one['findings']:,} times)" if one["findings"] > 1 else ""
    return f"{one['rule']} {rules[one['rule']].name}  {plain(one['file'])}{times}"


def _instead(one: Row) -> str:
    if one["reread_bytes"] is None:
        return ""
    read = size_text(one["reread_bytes"])
    said = (
        f"      instead of it: delete the segment's indexes and restart, and the broker reads {read} of log\n"
        "      before it serves the partition"
    )
    if one["reread_partition_bytes"] is not None and one["reread_partition_bytes"] > one["reread_bytes"]:
        said += f"; {size_text(one['reread_partition_bytes'])} if all its indexes are deleted"
    return said + "\n"
