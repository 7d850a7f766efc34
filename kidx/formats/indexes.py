"""Kafka's three index files: offset, time and transaction index.

Sources: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex, TransactionIndex and AbortedTxn. The entry width
stands here and nowhere else: KIP-1333 plans a 12-byte offset index entry without any marker in the file.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kidx.formats.fields import Field, RecordFormat, columns_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_RELATIVE_OFFSET = 2**31 - 1  # AbstractIndex.toRelative: offset - base offset must fit a Java int
WARM_SECTION_BYTES = 8192  # AbstractIndex.warmEntries (KAFKA-6432)
DEFAULT_INDEX_INTERVAL_BYTES = 4096  # index.interval.bytes and
DEFAULT_MAX_INDEX_BYTES = 10 << 20  # segment.index.bytes, where a topic says nothing else

_SEARCHED_BYTES = 64 << 10  # a zero tail longer than this is worth a search for its beginning


class IndexFormat(RecordFormat):
    """An index's entry; `kind` is its short name, `suffix` its file's, `key` and `value` the fields searches compare.

    `relative` says whether offsets are stored relative to the base offset in the file's name.
    """

    def __init__(
        self,
        kind: str,
        suffix: str,
        schema: str,
        source: str,
        fields: tuple[Field, ...],
        *,
        key: str,
        value: str,
    ) -> None:
        super().__init__(kind.replace("_", " "), schema, source, fields)
        self.kind, self.suffix, self.key, self.value = kind, suffix, key, value
        self.relative = any(f.name == "relative_offset" for f in fields)

    @property
    def warm_entries(self) -> int:
        """How many entries the warm section holds: 1,024 offset, 682 time index entries."""
        return WARM_SECTION_BYTES // self.size


_RELATIVE = Field("relative_offset", "i", "records", "offset minus the base offset in the file's name")

OFFSET_INDEX = IndexFormat(
    "offset_index",
    ".index",
    "kidx.offset_entry.v1",
    "org.apache.kafka.storage.internals.log.OffsetIndex",
    (_RELATIVE, Field("position", "i", "bytes", "where the batch starts in the .log")),
    key="offset",
    value="position",
)
TIME_INDEX = IndexFormat(
    "time_index",
    ".timeindex",
    "kidx.time_entry.v1",
    "org.apache.kafka.storage.internals.log.TimeIndex (KIP-33)",
    (Field("timestamp", "q", "ms", "largest timestamp so far, milliseconds since the epoch"), _RELATIVE),
    key="timestamp",
    value="offset",
)
TRANSACTION_INDEX = IndexFormat(
    "transaction_index",
    ".txnindex",
    "kidx.aborted_transaction.v1",
    "org.apache.kafka.storage.internals.log.TransactionIndex, AbortedTxn (KIP-98)",
    (
        Field("version", "h", "", "format version, 0"),
        Field("producer_id", "q", "", "the producer whose transaction was aborted"),
        Field("first_offset", "q", "offset", "first offset of the transaction"),
        Field("last_offset", "q", "offset", "offset of its ABORT marker"),
        Field("last_stable_offset", "q", "offset", "last stable offset when the marker was written"),
    ),
    key="last_offset",
    value="first_offset",
)
INDEX_FORMATS = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)


class Extent(NamedTuple):
    """How an index file's bytes divide: entries, then a zero tail (preallocation), then a torn entry.

    `entries` counts the whole entries before the zero tail; `zero_tail_bytes` the zeros after them, whole slots only;
    `torn_bytes` what is left of the file when it ends inside an entry.
    """

    entries: int
    zero_tail_bytes: int
    torn_bytes: int


class Bytes(Protocol):
    """What `extent_of` needs of a file: its size, bytes by position, and where its trailing zeros begin."""

    @property
    def size(self) -> int: ...

    def read(self, position: int, length: int) -> bytes: ...

    def nonzero_end(self, start: int = 0, end: int | None = None) -> int: ...

    def data_ranges(self, start: int = 0, end: int | None = None) -> list[tuple[int, int]]: ...


def extent_of(index_format: IndexFormat, file: Bytes, *, search: bool = False) -> Extent:
    """Find where an index's entries end: the zeros behind them are read backwards, except for a sparse file's holes.

    A new index is zero-filled up to its maximum size and trimmed on roll or clean close (AbstractIndex), so trailing
    zero slots are preallocation. Entry 0 all zero: preallocation in an offset index, for Kafka never indexes position
    0. In a time index (0, base) can be real, but only the log can tell.

    `search`: where the file ends in zeros that are no hole, the end of the entries is found by bisection, so that the
    zeros are not read. In an index with zero entries between others (KX102) that may be one of those.
    """
    width = index_format.size
    slots, torn = divmod(file.size, width)
    end = slots * width
    if search and (ranges := file.data_ranges(0, end)):
        end = ranges[-1][1]
        tail = end - _SEARCHED_BYTES
        if tail > 0 and file.nonzero_end(tail, end) == tail:
            end = _first_zero_slot(file, width, tail // width) * width
    entries = -(-file.nonzero_end(0, end) // width)
    return Extent(entries, (slots - entries) * width, torn)


def _first_zero_slot(file: Bytes, width: int, slots: int) -> int:
    """The first slot of nothing but zeros, `slots` where there is none, in a file whose entries all come before it."""
    low, high, zeros = 0, slots, bytes(width)
    while low < high:
        middle = (low + high) // 2
        if file.read(middle * width, width) == zeros:
            high = middle
        else:
            low = middle + 1
    return low


def absolute_offset(base_offset: int, relative_offset: int) -> int:
    """An entry's offset as Kafka's classes (and numpy's int64) have it: the sum of two Java longs wraps at 2^63."""
    return (base_offset + relative_offset + 2**63) % 2**64 - 2**63


def decode(
    index_format: IndexFormat, buffer: object, base_offset: int = 0, names: Collection[str] = ()
) -> dict[str, npt.NDArray[np.int64]]:
    """Every whole entry of a buffer as int64 arrays, one a field, shape (entries,); nothing is judged.

    Where offsets are relative, `offset` (absolute) comes first. A torn last entry is left out: its bytes are no entry.
    `names` picks fields, for those who do not need all.
    """
    import numpy as np

    view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
    count = len(view) // index_format.size
    raw = np.frombuffer(view[: count * index_format.size], dtype=index_format.dtype)
    wanted = names or ("offset", *(f.name for f in index_format.fields))
    arrays = {}
    if index_format.relative and "offset" in wanted:
        arrays["offset"] = raw["relative_offset"].astype(np.int64)
        arrays["offset"] += base_offset
    return arrays | {f.name: raw[f.name].astype(np.int64) for f in index_format.fields if f.name in wanted}


def decode_plain(index_format: IndexFormat, data: bytes) -> dict[str, array[int]]:
    """As `decode`, without numpy: every field as an array("q"), for some ten thousand entries faster than its import.

    There is no absolute `offset` among them, which in a damaged index may not fit 64 bits.
    """
    return {name: array("q", values) for name, values in columns_of(index_format, data).items()}
