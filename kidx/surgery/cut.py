"""Making an index shorter or longer without touching an entry that stays.

Sources: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex and TransactionIndex (truncateTo) and
AbstractIndex (trimToValidSize, resize).
"""

from __future__ import annotations

from kidx.errors import Refused, UsageError
from kidx.lookup.search import KEY, VALUE
from kidx.surgery.index_file import IndexFile
from kidx.surgery.replace import Change


def plan_truncate(index: IndexFile, offset: int, *, keep_allocated: bool = False) -> Change:
    """Remove the entries at and past an offset, as truncateTo; trimmed as by a clean close unless `keep_allocated`.

    Raises Refused for a torn file and for entries out of order, which Kafka's binary search would cut anywhere.
    """
    index.refuse_torn()
    index.refuse_disorder()
    after = index.entries[: entries_below(index, offset) * index.format.size]
    if keep_allocated and index.format.preallocated:
        after = after.ljust(len(index.data or b""), b"\0")
    return Change(index.path, "truncate", index.data, after)


def entries_below(index: IndexFile, offset: int) -> int:
    """How many entries truncateTo(offset) leaves."""
    if not index.format.searched:
        last_offsets = (fields[3] for fields in index.format.struct.iter_unpack(index.entries))
        return next((i for i, last in enumerate(last_offsets) if last >= offset), index.extent.entries)
    by = KEY if index.format.key == "offset" else VALUE
    reader = index.reader
    slot = reader.bounds(offset, by).lower
    exact = slot >= 0 and reader.reader(by)(slot) == offset
    return slot if exact else slot + 1


def plan_trim(index: IndexFile, *, torn: bool = False) -> Change:
    """Cut off the zero tail, as trimToValidSize on a clean close; with `torn` also the bytes of a torn last entry.

    Raises Refused for a torn file without `torn`.
    """
    if not torn:
        index.refuse_torn()
    return Change(index.path, "trim", index.data, index.entries)


def plan_resize(index: IndexFile, size: int) -> Change:
    """Give the file `size` bytes, rounded down to whole entries, as AbstractIndex.resize; zeros follow the entries.

    Raises Refused where the entries do not fit or the file is torn, UsageError for a transaction index.
    """
    if not index.format.preallocated:
        raise UsageError(f"{index.path}: a transaction index grows with its entries; it has no size to set")
    index.refuse_torn()
    rounded = size // index.format.size * index.format.size
    if rounded < len(index.entries):
        raise Refused(
            f"{index.path}: {index.extent.entries} entries take {len(index.entries)} bytes, more than {rounded}; "
            "nothing was written"
        )
    return Change(index.path, "resize", index.data, index.entries.ljust(rounded, b"\0"))
