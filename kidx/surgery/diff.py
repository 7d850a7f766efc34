"""What a change does to an index, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.formats.indexes import decode
from kidx.light_typing import TYPE_CHECKING, NamedTuple
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


def entry_changes(before: IndexFile, after: IndexFile) -> Iterator[EntryChange]:
    """The entries that only one of the two has, in the order of the slots where they stand, those that go first.

    Entries in both, in the same order or not, are not listed: an index is a set of facts about its log.
    """
    import numpy as np

    old, new = _rows(before), _rows(after)
    same = int(np.argmin(np.append(old[: len(new)] == new[: len(old)], False)))  # mostly they begin alike
    gone = same + np.flatnonzero(~np.isin(old[same:], new[same:]))
    come = same + np.flatnonzero(~np.isin(new[same:], old[same:]))
    marked = sorted([(slot, 0) for slot in gone.tolist()] + [(slot, 1) for slot in come.tolist()])
    columns = _columns(before), _columns(after)
    for slot, is_new in marked:
        fields = {name: int(array[slot]) for name, array in columns[is_new].items()}
        yield EntryChange(ADD if is_new else REMOVE, slot, fields)


def _rows(index: IndexFile) -> npt.NDArray[np.void]:
    """Each entry as one opaque value, shape (entries,), padded by a byte that keeps trailing zeros apart."""
    import numpy as np

    width = index.format.size
    rows = np.ones((index.extent.entries, width + 1), np.uint8)
    rows[:, :width] = np.frombuffer(index.entries, np.uint8).reshape(-1, width)
    return rows.view(f"S{width + 1}").ravel()


def _columns(index: IndexFile) -> dict[str, npt.NDArray[np.int64]]:
    return decode(index.format, index.entries, index.base_offset)
