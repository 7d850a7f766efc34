"""What a query could not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kidx.exit_status import FINDINGS, UNREADABLE
from kidx.tables.table import Notes

if TYPE_CHECKING:
    from kidx.segments.column_reader import DamagedRange


class Outcome:
    """Sentences about what could not be read, and damaged ranges of logs; `notes` is complete after the last row.

    `failure` is what ended the reading of a table.
    """

    def __init__(self) -> None:
        self.notes = Notes()
        self.failure: Exception | None = None
        self._seen: set[tuple[object, ...]] = set()

    def unread(self, sentence: str) -> None:
        """Note a file that could not be read; each once, however often a query reads a table."""
        if (sentence,) not in self._seen:
            self._seen.add((sentence,))
            self.notes.add(sentence, UNREADABLE)

    def damaged(self, path: str, damage: DamagedRange) -> None:
        """Note bytes of a log whose records were left out."""
        if (path, damage) not in self._seen:
            self._seen.add((path, damage))
            where = f"{path}: bytes {damage.start} to {damage.end - 1}"
            self.notes.add(f"{where} are damaged, their records are left out: {damage.why}", FINDINGS)
