"""Makes an index shorter or longer; the entries that stay are unchanged.

Sources: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex and TransactionIndex (truncateTo) and
AbstractIndex (trimToValidSize, resize).
"""

from __future__ import annotations

from kidx.errors import Refused, UsageError
from kidx.lookup.aborted import read_transactions
from kidx.lookup.search import KEY, VALUE
from kidx.surgery.index_file import IndexFile
from kidx.surgery.replace import Change


def plan_truncate(index: IndexFile, offset: int, *, keep_allocated: bool = False) -> Change:
    """Remove the entries from an offset on, as truncateTo does; the file is trimmed as on a clean close unless
    `keep_allocated`.

    Raises Refused for a torn file and for entries out of order, which Kafka's binary search would cut anywhere.
    """
    index.refuse_torn()
    index.refuse_disorder()
    entries = entries_below(index, offset)
    zeros = 0
    if keep_allocated and index.format.preallocated and index.data is not None:
        zeros = index.data.size - entries * index.format.size
    after = index.kept(entries, zeros)
    return Change(index.path, "truncate", index.data, after)


def entries_below(index: IndexFile, offset: int) -> int:
    """How many entries truncateTo(offset) leaves."""
    if not index.format.searched:
        transactions = enumerate(read_transactions(index.kept(index.extent.entries)))
        return next((i for i, one in transactions if one.last_offset >= offset), index.extent.entries)
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
    return Change(index.path, "trim", index.data, index.kept(index.extent.entries))


def plan_resize(index: IndexFile, size: int) -> Change:
    """Give the file `size` bytes, rounded down to whole entries, as AbstractIndex.resize; zeros follow the entries.

    Raises Refused where the entries do not fit or the file is torn, UsageError for a transaction index.
    """
    if not index.format.preallocated:
        raise UsageError(f"{index.path}: a transaction index grows with its entries; it has no size to set")
    index.refuse_torn()
    rounded = size // index.format.size * index.format.size
    if rounded < index.entries_bytes:
        raise Refused(
            f"{index.path}: {index.extent.entries} entries take {index.entries_bytes} bytes, more than {rounded}; "
            "nothing was written"
        )
    return Change(index.path, "resize", index.data, index.kept(index.extent.entries, rounded - index.entries_bytes))
