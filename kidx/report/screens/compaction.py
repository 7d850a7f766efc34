"""The screen of kidx compact: the cleanable range, the segments, the offset map, the memory needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

from kidx.report.screens.lines import aligned, named_rows, write_lines
from kidx.tables.table import Table
from kidx.text.escaping import plain

_HEADS = (
    "segment",
    "into",
    "records",
    "kept",
    "superseded",
    "tombstone",
    "aborted",
    "keyless",
    "control",
    "bytes",
    "after",
)


def show(table: Table, out: IO[str] | None = None) -> None:
    """Write kidx.compaction_segment.v1 and its summary to `out` (standard output)."""
    write_lines(_lines(list(named_rows(table)), table.summary or {}), out)


def _lines(rows: list[dict[str, Any]], summary: Mapping[str, Any]) -> Iterator[str]:
    first, end = summary["first_dirty"], summary["first_uncleanable"]
    if first >= end:
        yield f"{plain(summary['partition'])}: nothing to clean: dirty from {first}, uncleanable from {end}"
    else:
        reach = summary["cleaned_up_to"]
        yield f"{plain(summary['partition'])}: dirty from {first} up to {end}; cleaning would reach {reach}"
    yield f"  {first}: {plain(summary['first_dirty_why'])}"
    yield f"  {end}: {summary['first_uncleanable_why']}"
    yield ""
    yield from aligned([_HEADS, *map(_cells, rows)], [True] * len(_HEADS))
    yield ""
    dropped = summary["records"] - summary["kept"]
    yield f"{dropped:,} of {summary['records']:,} records dropped, {summary['bytes_saved']:,} bytes saved"
    rates = f"{_rate(summary['collision_rate'])} a look-up (expected {_rate(summary['expected_collision_rate'])})"
    used = f"{summary['map_entries']:,} of {summary['map_slots']:,} slots"
    yield f"offset map ({summary['digest']}): {used}; collisions: {rates}"
    enough = "one pass is enough" if summary["one_pass_is_enough"] else "ONE PASS IS NOT ENOUGH: the map fills up"
    yield (
        f"{enough}; one pass over {summary['distinct_keys']:,} keys needs a dedupe buffer of "
        f"{summary['smallest_dedupe_buffer_bytes']:,} bytes"
    )


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    into = "-" if row["group"] is None else str(row["group"])
    dropped = (f"{count:,}" for count in row["dropped"].values())
    return (
        str(row["segment"]),
        into,
        f"{row['records']:,}",
        f"{row['kept']:,}",
        *dropped,
        f"{row['bytes_before']:,}",
        f"{row['bytes_after']:,}",
    )


def _rate(rate: float | None) -> str:
    return "none" if rate is None else f"{rate:.3f}"
