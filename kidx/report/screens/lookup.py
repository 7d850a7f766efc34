"""The screen of kidx lookup: the answer, the probes on the way there, the pages they touch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

from kidx.report.screens.lines import aligned, named_rows, write_lines
from kidx.tables.table import Table
from kidx.text.quantities import counted, iso_time

Row = Mapping[str, Any]


def show(table: Table, out: IO[str] | None = None, *, iso: bool = False) -> None:
    """Write the rows of kidx lookup (one of the schemas in _LINES_OF) to `out` (standard output)."""
    lines_of = _LINES_OF[table.schema]
    for row in named_rows(table):
        write_lines(lines_of(row, iso), out)


def _lookup_lines(row: Row, iso: bool) -> Iterator[str]:
    yield f"{_target(row, iso)} -> {_answer(row)}   ({_how(row)})"
    if row["probes"] is not None:
        yield f"{_search_name(row)}: {_cost(row)}"
        yield from _steps(row)


def _by_time(row: Row) -> bool:
    return bool(row["kind"] == "time_index" and row["by"] == "key")


def _target(row: Row, iso: bool) -> str:
    if _by_time(row):
        return f"timestamp {_moment(row['target'], iso)}"
    searches_positions = row["kind"] == "offset_index" and row["by"] == "value"
    return f"{'position' if searches_positions else 'offset'} {row['target']}"


def _answer(row: Row) -> str:
    answer = row["answer"]
    if answer is None:
        return "none"
    fields = []
    for name, value in answer.items():
        if name != "timestamp_iso":
            fields.append(f"{name} {value}")
        elif value is not None:
            fields[-1] += f" ({value})"
    return ", ".join(fields)


def _how(row: Row) -> str:
    if row["slot"] < 0:
        if row["entries"] == 0:
            return "no entries"
        return "no entry at or below it" if row["bound"] == "lower" else "no entry at or above it"
    found = row["entry"][_compared_name(row)]
    how = "exact" if found == row["target"] else "below it" if found < row["target"] else "above it"
    return f"slot {row['slot']} of {row['entries']}, {how}" + (
        "; standard search" if row["search"] == "standard" else ""
    )


def _compared_name(row: Row) -> str:
    key, value = ("offset", "position") if row["kind"] == "offset_index" else ("timestamp", "offset")
    return key if row["by"] == "key" else value


def _search_name(row: Row) -> str:
    return "warm-section search" if row["search"] == "warm" else "standard search"


def _cost(row: Row) -> str:
    probes, pages = len(row["probes"]), row["pages"]
    return f"{counted(probes, 'probe')}, {counted(len(pages), 'page')}: {' '.join(map(str, pages))}"


def _steps(row: Row) -> Iterator[str]:
    cells = [["step", "slot", "bytes", "page", "entry", "compare", ""]]
    for step, probe in enumerate(row["probes"], 1):
        cells.append(
            [
                str(step),
                str(probe["slot"]),
                f"{probe['byte_start']}-{probe['byte_end'] - 1}",
                ",".join(map(str, probe["pages"])),
                " @ ".join(str(v) for v in probe["entry"].values()),
                f"{probe['compared']} {probe['is']} {row['target']}",
                _remark(row, step, probe),
            ]
        )
    for line in aligned(cells, [True, True, False, False, False, False, False]):
        yield f" {line}"


def _remark(row: Row, step: int, probe: Mapping[str, Any]) -> str:
    if row["search"] == "warm" and step == 1:
        return "the warm section starts here"
    if probe["slot"] == 0 and step == (2 if row["search"] == "warm" else 1):
        return "the first entry"
    return "found" if probe["is"] == "=" else ""


def _aborted_lines(row: Row, _: bool) -> Iterator[str]:
    aborted = row["aborted"]
    yield f"fetch of offsets {row['fetch_from']} to {row['fetch_to']}: {counted(len(aborted), 'aborted transaction')}"
    for transaction in aborted:
        yield f"  producer {transaction['producer_id']} from offset {transaction['first_offset']}"
    if not row["complete"]:
        yield "incomplete: the next segment's transaction index may hold more"


def _read_lines(row: Row, iso: bool) -> Iterator[str]:
    batch, record = row["batch"], row["record"]
    if batch is None:
        yield f"offset {row['target']} -> none   ({row['why']})"
    else:
        yield (
            f"offset {row['target']} -> batch {batch['base_offset']} to {batch['last_offset']} "
            f"at position {batch['position']}, {batch['size']} bytes"
        )
        if record is None:
            yield "  record: no record at or past it is left in this batch"
        else:
            yield f"  record {record['offset']}, timestamp {_moment(record['timestamp'], iso)}"
    if row["visible"] is not None:
        yield f"  {'visible' if row['visible'] else 'not visible'} to a {row['isolation']} consumer"
    if row["segment"] is not None:
        slot = "no index entry" if row["index_slot"] < 0 else f"index slot {row['index_slot']}"
        yield (
            f"  segment {row['segment']}: {slot}, so from position {row['index_position']}; "
            f"{row['bytes_walked']} bytes walked"
        )
    if row["slice"] is not None:
        cut = row["slice"]
        rest = f", and {cut['partial_bytes']} bytes of the next batch" if cut["partial_bytes"] else ""
        yield f"  a fetch gets {cut['size']} bytes from {cut['position']}: up to offset {cut['last_offset']}{rest}"
    yield from _pages_lines(row)


def _find_lines(row: Row, iso: bool) -> Iterator[str]:
    found = row["found"]
    if found is None:
        yield f"{_wanted(row['target'], iso)} -> none   ({row['why']})"
    else:
        epoch = "" if found["leader_epoch"] is None else f", leader epoch {found['leader_epoch']}"
        when = "" if found["timestamp"] == -1 else f", timestamp {_moment(found['timestamp'], iso)}"
        yield f"{_wanted(row['target'], iso)} -> offset {found['offset']}{when}{epoch}"
    if row["segment"] is not None:
        yield f"  segment {row['segment']}: {row['bytes_walked']} bytes walked"
    yield from _pages_lines(row)


def _wanted(timestamp: int, iso: bool) -> str:
    """What was looked for: a time, or what one of a broker's special timestamps asks for."""
    if timestamp < 0:
        from kidx.lookup.partition import SPECIAL, word_of

        if timestamp in SPECIAL.values():
            return word_of(timestamp)
    return f"time {_moment(timestamp, iso)}"


def _moment(timestamp: int, iso: bool) -> str:
    if not iso:
        return str(timestamp)
    moment = iso_time(timestamp)
    return str(timestamp) if moment is None else f"{timestamp} ({moment})"


def _pages_lines(row: Row) -> Iterator[str]:
    for file, pages in (row["pages"] or {}).items():
        numbers = f": {' '.join(map(str, pages))}" if pages else ""
        yield f"  {counted(len(pages), 'page')} of the {file.replace('_', ' ')}{numbers}"


_LINES_OF = {
    "kidx.lookup.v1": _lookup_lines,
    "kidx.aborted_lookup.v1": _aborted_lines,
    "kidx.read.v1": _read_lines,
    "kidx.find.v1": _find_lines,
}
