"""The screen of the commands that write: a line for each file, and for --dry-run its changed entries as a diff."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import IO, Any

from kidx.text.escaping import plain
from kidx.text.quantities import counted

_SHOWN = 40  # changed entries of a file
_MARKS = {"remove": "-", "add": "+"}


def write_outcome(row: Mapping[str, Any], *, unchanged: bool, out: IO[str] | None = None) -> None:
    """Write one file's outcome as a line. `row` has the names of kidx.write.v1."""
    out = out or sys.stdout
    verb = "written" if row["written"] else "would be written"
    before, after = _size(row, "before"), _size(row, "after")
    if unchanged:
        text = f"unchanged, {before}"
    elif before is None:
        text = f"{verb}: new, {after}"
    elif after is None:
        text = f"{'removed' if row['written'] else 'would be removed'}: it had {before}"
    else:
        text = f"{verb}: {after} (before: {before})"
    if row["backup"]:
        text += f"; backup {row['backup']}"
    if row["said"]:
        text += f"; {row['said']}"
    out.write(plain(f"{row['file']}: {text}") + "\n")


def write_diff(changes: Iterable[tuple[str, int, Mapping[str, int]]], count: int, out: IO[str] | None = None) -> None:
    """Write at most _SHOWN of `count` changes (change, slot, entry) as `- slot 12  offset 4711  position 2097160`."""
    out = out or sys.stdout
    for change, slot, entry in islice(changes, _SHOWN):
        fields = "  ".join(
            f"{name} {value}" for name, value in entry.items() if name not in ("relative_offset", "version")
        )
        out.write(f"  {_MARKS[change]} slot {slot}  {fields}\n")
    if (more := count - _SHOWN) > 0:
        out.write(f"  and {counted(more, 'more change')}; --format jsonl shows all\n")


def _size(row: Mapping[str, Any], when: str) -> str | None:
    size, entries = row[f"bytes_{when}"], row[f"entries_{when}"]
    if size is None:
        return None
    return (
        counted(size, "byte") if entries is None else f"{counted(entries, 'entry', 'entries')}, {counted(size, 'byte')}"
    )
