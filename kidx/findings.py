"""The Finding type: what checks yield, whatever system's file they read."""

from __future__ import annotations

from kidx.light_typing import Any, NamedTuple

ERROR, WARNING, NOTE = "error", "warning", "note"
SEVERITIES = (ERROR, WARNING, NOTE)  # worst first


class Rule(NamedTuple):
    """One thing that can be wrong, or worth knowing, about a file.

    `code` is stable (KX110); `name` is its readable twin (zero-tail). `broker` says what a broker of which version does
    with such a file, `story` what happened and what to do (for `kidx explain`); both are plain sentences.
    """

    code: str
    name: str
    severity: str
    title: str
    broker: str
    story: str
    mend: str = ""


class Finding(NamedTuple):
    """One finding of one rule in one file.

    `byte_start` is the first byte concerned and `byte_end` the byte AFTER the last one; `slot` is the index entry.
    All three are None where the finding is about the whole file. `expected` and `found` are JSON-able values.
    """

    rule: str
    severity: str
    file: str
    byte_start: int | None
    byte_end: int | None
    slot: int | None
    expected: Any
    found: Any
    message: str
    broker: str


class Skipped(NamedTuple):
    """Something that was not checked, and why."""

    what: str
    why: str


class Coverage:
    """What a run checked. "Clean" without these totals would claim more than is known.

    `bytes_checked` and `bytes_skipped` are bytes of files, `entries` index entries, `batches` record batches.
    """

    def __init__(
        self,
        files: int = 0,
        entries: int = 0,
        batches: int = 0,
        bytes_checked: int = 0,
        bytes_skipped: int = 0,
        skipped: list[Skipped] | None = None,
        unreadable: int = 0,
    ) -> None:
        self.files = files
        self.entries = entries
        self.batches = batches
        self.bytes_checked = bytes_checked
        self.bytes_skipped = bytes_skipped
        self.skipped: list[Skipped] = [] if skipped is None else skipped
        self.unreadable = unreadable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coverage) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"<Coverage: {', '.join(f'{name} {value}' for name, value in vars(self).items())}>"

    def add(self, other: Coverage) -> None:
        """Add another run's totals to these."""
        self.files += other.files
        self.entries += other.entries
        self.batches += other.batches
        self.bytes_checked += other.bytes_checked
        self.bytes_skipped += other.bytes_skipped
        self.skipped += other.skipped
        self.unreadable += other.unreadable
