"""An index to be changed: its bytes, its entries, its allocation."""

from __future__ import annotations

from functools import cached_property

from kidx.errors import CannotRead, Refused
from kidx.evidence import Evidence, from_bytes
from kidx.formats.indexes import Extent, IndexFormat, decode, extent_of
from kidx.logdir.names import base_offset_of, index_format_of
from kidx.lookup.index import IndexReader
from kidx.surgery.content import Joined, Piece
from kidx.surgery.replace import open_current

REPAIR = "kidx rebuild creates it from the log"
_CHUNK_ENTRIES = 1 << 16


class IndexFile:
    """An index file's bytes (None: there is no file yet) and what they mean."""

    def __init__(self, path: str, index_format: IndexFormat, base_offset: int, data: Evidence | None) -> None:
        self.path, self.format, self.base_offset, self.data = path, index_format, base_offset, data

    @property
    def _bytes(self) -> Evidence:
        return self.data or from_bytes(b"", self.path)

    @cached_property
    def extent(self) -> Extent:
        """How the bytes divide into entries, zero tail and torn bytes."""
        return extent_of(self.format, self._bytes)

    @property
    def entries_bytes(self) -> int:
        """How many bytes the valid entries take."""
        return self.extent.entries * self.format.size

    def entries(self, first: int, behind: int | None = None) -> bytes:
        """The bytes of the valid entries from slot `first` up to, not including, slot `behind`."""
        width = self.format.size
        behind = self.extent.entries if behind is None else min(behind, self.extent.entries)
        return self._bytes.read(first * width, max(0, behind - first) * width)

    def kept(self, entries: int, *added: Piece) -> Evidence:
        """The file's first `entries` entries, then the given bytes."""
        return Joined(self.path, (self._bytes, 0, entries * self.format.size), *added)

    @property
    def preallocated(self) -> bool:
        """Whether zeros follow the entries: what is written then stays preallocated."""
        return self.extent.zero_tail_bytes > 0

    @property
    def reader(self) -> IndexReader:
        """The valid entries, to be searched as a broker does."""
        return IndexReader(self.kept(self.extent.entries), self.format, self.base_offset)

    def last(self) -> tuple[int, ...] | None:
        """The last valid entry's fields as they are stored, None where there is none."""
        if not self.extent.entries:
            return None
        return self.format.struct.unpack(self.entries(self.extent.entries - 1))

    def refuse_torn(self) -> None:
        """Raises Refused where the file ends inside an entry."""
        if torn := self.extent.torn_bytes:
            raise Refused(
                f"{self.path}: torn: its last {torn} bytes are not a complete entry; "
                f"kidx trim --torn cuts them off, {REPAIR}; nothing was written"
            )

    def refuse_disorder(self) -> None:
        """Raises Refused if the entries are not in an order that Kafka's append accepts."""
        import numpy as np

        for first in range(0, self.extent.entries, _CHUNK_ENTRIES):
            chunk = self.entries(first, first + _CHUNK_ENTRIES + 1)  # one more, to be compared with its neighbour
            arrays = decode(self.format, chunk, self.base_offset)
            wrong = np.diff(arrays[self.format.key]) <= 0
            for column in self.format.never_falling:
                wrong |= np.diff(arrays[column]) < 0
            if wrong.any():
                slot = first + int(np.argmax(wrong)) + 1
                raise Refused(
                    f"{self.path}: entry {slot} is out of order, so where an entry belongs is unknown; {REPAIR}; "
                    "nothing was written"
                )


def load_index(path: str, base_offset: int | None = None, *, missing_is_fine: bool = False) -> IndexFile:
    """Read an index that is to be changed. A base offset is needed only if entries are relative to one.

    Raises CannotRead, Refused (a link, see kidx.surgery.replace) and UsageError.
    """
    index_format = index_format_of(path)
    data = open_current(path)
    if data is None and not missing_is_fine:
        raise CannotRead(f"{path}: no such file; `kidx append --create` makes a new one")
    return IndexFile(path, index_format, base_offset_of(path, base_offset), data)
