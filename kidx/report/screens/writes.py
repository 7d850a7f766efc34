"""How commands that write tell what they did, or would do: a line a file, or its entries as a diff."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import IO, Any

from kidx.tables.table import BOOL, INT, TEXT, TREE, Column
from kidx.text.escaping import plain

WRITE_SCHEMA = "kidx.write.v1"
WRITE_COLUMNS = (
    Column("file", TEXT),
    Column("action", TEXT),
    Column("written", BOOL),
    Column("entries_before", INT),
    Column("entries_after", INT),
    Column("bytes_before", INT, "bytes"),
    Column("bytes_after", INT, "bytes"),
    Column("sha256_before", TEXT),
    Column("sha256_after", TEXT),
    Column("backup", TEXT),
    Column("said", TEXT),
)
CHANGE_SCHEMA = "kidx.entry_change.v1"
CHANGE_COLUMNS = (Column("file", TEXT), Column("change", TEXT), Column("slot", INT), Column("entry", TREE))

_SHOWN = 40
_MARKS = {"remove": "-", "add": "+"}


def write_line(row: Mapping[str, Any], *, unchanged: bool, out: IO[str] | None = None) -> None:
    """One file's outcome as a sentence: `row` has the columns of WRITE_COLUMNS."""
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


def change_lines(changes: Iterable[tuple[str, int, Mapping[str, int]]], count: int, out: IO[str] | None = None) -> None:
    """`count` changes of an index as a diff, `- slot 12  offset 4119003  position 2097160`: a screen of them."""
    out = out or sys.stdout
    for change, slot, entry in islice(changes, _SHOWN):
        fields = "  ".join(
            f"{name} {value}" for name, value in entry.items() if name not in ("relative_offset", "version")
        )
        out.write(f"  {_MARKS[change]} slot {slot}  {fields}\n")
    if (more := count - _SHOWN) > 0:
        out.write(f"  and {_counted(more, 'more change', 'more changes')}; --format jsonl has them all\n")


def _size(row: Mapping[str, Any], when: str) -> str | None:
    size, entries = row[f"bytes_{when}"], row[f"entries_{when}"]
    if size is None:
        return None
    counted = f"{_counted(size, 'byte')}"
    return counted if entries is None else f"{_counted(entries, 'entry', 'entries')}, {counted}"


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
