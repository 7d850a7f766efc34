"""What a change does to an index, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kidx.errors import LimitExceeded
from kidx.formats.indexes import decode
from kidx.surgery.index_file import IndexFile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

REMOVE, ADD = "remove", "add"
_CHUNK_ENTRIES = 1 << 16
_LISTED_BYTES = 64 << 20


class EntryChange(NamedTuple):
    """A removed entry (`slot` in the old file) or an added one (`slot` in the new file); `entry` holds its fields."""

    change: str
    slot: int
    entry: dict[str, int]


class EntryChanges:
    """The entries that only one of two indexes has, by slot, removed ones first.

    Entries in both, in the same order or not, are not listed: an index is a set of facts about its log. Their number is
    known at once; each is computed when it is read.
    """

    def __init__(self, before: IndexFile, after: IndexFile) -> None:
        import numpy as np

        self._files = before, after
        width = before.format.size
        self._same = _entries_alike(before, after)  # mostly they begin alike, so less has to be compared
        if max(index.extent.entries - self._same for index in self._files) * width > _LISTED_BYTES:
            raise LimitExceeded(f"{before.path}: more than {_LISTED_BYTES:,} bytes of entries differ: too many to list")
        rest = [_rows(np.frombuffer(index.entries(self._same), np.uint8), width) for index in self._files]
        changed = [np.flatnonzero(~np.isin(mine, other)) for mine, other in (rest, rest[::-1])]
        slots = np.concatenate(changed)
        is_new = np.repeat([False, True], [len(one) for one in changed])
        order = np.lexsort((is_new, slots))
        self._slots, self._is_new = slots[order], is_new[order]

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[EntryChange]:
        columns = [self._columns(index) for index in self._files]
        for at in range(len(self)):
            slot, is_new = int(self._slots[at]), bool(self._is_new[at])
            fields = {name: int(array[slot]) for name, array in columns[is_new].items()}
            yield EntryChange(ADD if is_new else REMOVE, self._same + slot, fields)

    def _columns(self, index: IndexFile) -> dict[str, npt.NDArray[np.int64]]:
        """The entries' fields, from the first on that differs."""
        return decode(index.format, index.entries(self._same), index.base_offset)


def _entries_alike(before: IndexFile, after: IndexFile) -> int:
    """How many entries two indexes begin with in common."""
    import numpy as np

    entries = min(before.extent.entries, after.extent.entries)
    for first in range(0, entries, _CHUNK_ENTRIES):
        behind = min(first + _CHUNK_ENTRIES, entries)
        one, other = before.entries(first, behind), after.entries(first, behind)
        if one != other:
            differs = np.frombuffer(one, np.uint8) != np.frombuffer(other, np.uint8)
            return first + int(differs.argmax()) // before.format.size
    return entries


def _rows(raw: npt.NDArray[np.uint8], width: int) -> npt.NDArray[np.bytes_]:
    """Each entry as one opaque value, shape (entries,), padded by a byte that keeps trailing zeros apart."""
    import numpy as np

    rows = np.ones((len(raw) // width, width + 1), np.uint8)
    rows[:, :width] = raw.reshape(-1, width)
    return rows.view(f"S{width + 1}").ravel()
