"""What a change does to an index, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kidx.formats.indexes import decode
from kidx.surgery.index_file import IndexFile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

REMOVE, ADD = "remove", "add"


class EntryChange(NamedTuple):
    """An entry that goes (`slot` in the old file) or comes (`slot` in the new one); `entry` holds its fields."""

    change: str
    slot: int
    entry: dict[str, int]


class EntryChanges:
    """The entries that only one of two indexes has, in the order of the slots where they stand, those that go first.

    Entries in both, in the same order or not, are not listed: an index is a set of facts about its log. Their number is
    known at once; each is only made when it is asked for.
    """

    def __init__(self, before: IndexFile, after: IndexFile) -> None:
        import numpy as np

        self._files = before, after
        width = before.format.size
        raw = [np.frombuffer(index.entries, np.uint8) for index in self._files]
        shorter = min(map(len, raw))
        differs = raw[0][:shorter] != raw[1][:shorter]
        first = int(np.argmax(differs)) if differs.any() else shorter
        self._same = first // width  # mostly they begin alike, so less has to be looked at
        rest = [_rows(array[self._same * width :], width) for array in raw]
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
        return decode(index.format, index.entries[self._same * index.format.size :], index.base_offset)


def _rows(raw: npt.NDArray[np.uint8], width: int) -> npt.NDArray[np.bytes_]:
    """Each entry as one opaque value, shape (entries,), padded by a byte that keeps trailing zeros apart."""
    import numpy as np

    rows = np.ones((len(raw) // width, width + 1), np.uint8)
    rows[:, :width] = raw.reshape(-1, width)
    return rows.view(f"S{width + 1}").ravel()
