"""What became of a partition's offsets during an export: exported, left out, damaged, missing, with their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from kidx.exit_status import CLEAN, FINDINGS, UNREADABLE

if TYPE_CHECKING:
    from kidx.segments.record_columns import RecordColumns

MANIFEST_SCHEMA = "kidx.export_manifest.v1"
_LOOKED_BACK = 64
_MOST_LISTED = 10_000  # entries of a kind; the others are counted


@dataclass(slots=True)
class Coverage:
    """One partition's account. Ranges of offsets include both ends; byte ranges are [byte_start, byte_end).

    `exported` has what was read of each file; `damaged` the bytes that gave no records (or not all of theirs) and the
    offsets that they may have held; `missing` offsets that no file has; `aborted` the transactions that were left out;
    `withheld` offsets from the last stable offset on; `unread` sentences about files that could not be read.
    """

    name: str
    topic: str | None
    partition: int | None
    directories: list[str]
    files: list[dict[str, Any]] = field(default_factory=list)
    records: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    markers_left_out: int = 0
    aborted_records: int = 0
    not_utf8: int = 0
    decoded: dict[str, dict[str, int]] = field(default_factory=dict)
    exported: list[dict[str, Any]] = field(default_factory=list)
    damaged: list[dict[str, Any]] = field(default_factory=list)
    missing: list[dict[str, Any]] = field(default_factory=list)
    aborted: list[dict[str, Any]] = field(default_factory=list)
    withheld: list[dict[str, Any]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    not_listed: int = 0

    def count(self, columns: RecordColumns) -> None:
        """Note records that have been written."""
        self.records += len(columns)
        if self.first_offset is None:
            self.first_offset = int(columns.offset[0])
        self.last_offset = int(columns.offset[-1])

    def read(self, path: str, start: int, end: int, columns: RecordColumns) -> None:
        """Note what was read of a file, in order; what goes on where the last entry ends is added to it."""
        last_offset = int(columns.offset[-1])
        entry = self.exported[-1] if self.exported else None
        if entry is not None and entry["file"] == path and entry["byte_end"] >= start:
            entry["byte_end"], entry["last_offset"] = max(end, entry["byte_end"]), last_offset
            return
        first = int(columns.offset[0])
        self.add("exported", file=path, byte_start=start, byte_end=end, first_offset=first, last_offset=last_offset)

    def add(self, entries_name: str, /, **entry: Any) -> None:
        """Append to one of the lists, up to a limit, unless it is there."""
        entries = getattr(self, entries_name)
        if entry in entries[-_LOOKED_BACK:]:  # an export that was resumed meets the damage around its start again
            return
        if len(entries) < _MOST_LISTED:
            entries.append(entry)
        else:
            self.not_listed += 1

    def as_row(self) -> dict[str, Any]:
        """The partition's entry of the manifest."""
        return asdict(self)

    def withhold(self, first_offset: int, last_offset: int, reason: str) -> None:
        """Note offsets that a consumer is not given yet; neighbouring ones become one entry."""
        if self.withheld:
            self.withheld[-1]["last_offset"] = last_offset
        else:
            self.add("withheld", first_offset=first_offset, last_offset=last_offset, reason=reason)

    @property
    def status(self) -> int:
        """The exit status of this partition: 3 where something was not read, 1 where records are damaged or missing."""
        if self.unread:
            return UNREADABLE
        return FINDINGS if self.damaged or self.missing else CLEAN

    def sentences(self) -> Iterator[str]:
        """What was not exported, for people."""
        yield from self.unread
        for entry in self.damaged:
            where = f"{entry['file']}: bytes {entry['byte_start']} to {entry['byte_end'] - 1}"
            yield f"{where} are damaged and were left out: {entry['reason']}"
        for entry in self.missing:
            last = entry["last_offset"]
            upto = "on" if last is None else f"to {last}"
            yield f"{self.name}: offsets {entry['first_offset']} {upto} are missing: {entry['reason']}"
        for entry in self.withheld:
            first, last = entry["first_offset"], entry["last_offset"]
            yield f"{self.name}: offsets {first} to {last} are withheld: {entry['reason']}"
        for side, counts in self.decoded.items():
            left = {why: count for why, count in counts.items() if why not in ("decoded", "no schema id")}
            if left:
                listed = ", ".join(f"{why}: {count}" for why, count in sorted(left.items()))
                yield f"{self.name}: {side}s that stayed bytes ({listed})"
        if self.not_utf8:
            yield f"{self.name}: {self.not_utf8} keys or values are not UTF-8; --encoding base64 writes them exactly"
