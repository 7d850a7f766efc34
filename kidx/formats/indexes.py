"""Kafka's three index files: offset, time and transaction index.

Sources: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex, TransactionIndex and AbortedTxn. The entry width
is defined only here: KIP-1333 plans a 12-byte offset index entry without any marker in the file.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from kidx.formats.fields import Field, RecordFormat

if TYPE_CHECKING:
    from typing import Protocol

    import numpy as np
    import numpy.typing as npt

    class Bytes(Protocol):
        """The methods of a file that `extent_of` uses: kidx.evidence.Evidence has them."""

        @property
        def size(self) -> int: ...

        def read(self, position: int, length: int) -> bytes: ...

        def nonzero_end(self, start: int = 0, end: int | None = None) -> int: ...

        def data_ranges(self, start: int = 0, end: int | None = None) -> list[tuple[int, int]]: ...


MAX_RELATIVE_OFFSET = 2**31 - 1  # AbstractIndex.toRelative: offset - base offset must fit a Java int
WARM_SECTION_BYTES = 8192  # AbstractIndex.warmEntries (KAFKA-6432)
DEFAULT_INDEX_INTERVAL_BYTES = 4096  # index.interval.bytes and
DEFAULT_MAX_INDEX_BYTES = 10 << 20  # segment.index.bytes, where a topic says nothing else

_SEARCHED_BYTES = 64 << 10  # a zero tail longer than this is worth a search for its beginning


class IndexFormat(RecordFormat):
    """One kind of index: its entry, and the traits in which the kinds differ. All are declared below, and only there.

    kind                  short name; `suffix` ends its file's name
    key, value            the columns that searches compare: a look-up by key returns the value
    strictly_rising       columns that are larger in every entry than in the one before
    never_falling         columns that may repeat, but never get smaller
    offset_range          columns of the smallest and largest offset that an entry refers to
    searched              searched by halves, warm section first (AbstractIndex); otherwise read from the start
    preallocated          created at its maximum size, zero-filled, and trimmed on roll or clean close
    reserved_slots        last slots that only the roll of the segment fills
    first_may_be_zero     whether an entry of zero bytes can be real in slot 0
    below_first           (key, value) that a look-up returns below the first entry; None is the base offset
    relative              whether offsets are stored relative to the base offset in the file's name (derived)
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
        strictly_rising: tuple[str, ...],
        never_falling: tuple[str, ...] = (),
        offset_range: tuple[str, str] = ("offset", "offset"),
        searched: bool = True,
        preallocated: bool = True,
        reserved_slots: int = 0,
        first_may_be_zero: bool = False,
        below_first: tuple[int | None, int | None] | None = None,
    ) -> None:
        super().__init__(kind.replace("_", " "), schema, source, fields)
        self.kind, self.suffix, self.key, self.value = kind, suffix, key, value
        self.strictly_rising, self.never_falling, self.offset_range = strictly_rising, never_falling, offset_range
        self.searched, self.preallocated, self.reserved_slots = searched, preallocated, reserved_slots
        self.first_may_be_zero, self.below_first = first_may_be_zero, below_first
        stored = [f.name for f in fields]
        self.relative = _RELATIVE.name in stored
        self._relative_at = stored.index(_RELATIVE.name) if self.relative else -1
        # The columns of an entry: its fields, the relative offset made absolute.
        self.columns = tuple("offset" if name == _RELATIVE.name else name for name in stored)
        self._key_at, self._value_at = self.columns.index(key), self.columns.index(value)

    @property
    def keyed_by_time(self) -> bool:
        """Whether the key is a timestamp, in ms since the epoch."""
        return self.fields[self._key_at].unit == "ms"

    @property
    def warm_entries(self) -> int:
        """How many entries the warm section holds: 1,024 offset, 682 time index entries."""
        return WARM_SECTION_BYTES // self.size

    def is_strict(self, column: str) -> bool:
        """Whether a column rises from entry to entry, rather than only never falling."""
        return column in self.strictly_rising

    def absolute(self, stored: tuple[int, ...], base_offset: int) -> tuple[int, ...]:
        """One entry's stored fields in the order of `columns`, the relative offset made absolute."""
        at = self._relative_at
        return stored if at < 0 else (*stored[:at], absolute_offset(base_offset, stored[at]), *stored[at + 1 :])

    def key_and_value(self, stored: tuple[int, ...], base_offset: int) -> tuple[int, int]:
        """One entry's key and value from its stored fields, offsets absolute."""
        fields = self.absolute(stored, base_offset)
        return fields[self._key_at], fields[self._value_at]

    def fallback(self, base_offset: int) -> tuple[int, int] | None:
        """The key and value that Kafka's look-up returns below the first entry, None if it returns nothing."""
        if self.below_first is None:
            return None
        key, value = (base_offset if number is None else number for number in self.below_first)
        return key, value


_RELATIVE = Field("relative_offset", "i", "records", "offset minus the base offset in the file's name")

OFFSET_INDEX = IndexFormat(
    "offset_index",
    ".index",
    "kidx.offset_entry.v1",
    "org.apache.kafka.storage.internals.log.OffsetIndex",
    (_RELATIVE, Field("position", "i", "bytes", "where the batch starts in the .log")),
    key="offset",
    value="position",
    strictly_rising=("offset", "position"),
    below_first=(None, 0),
)
TIME_INDEX = IndexFormat(
    "time_index",
    ".timeindex",
    "kidx.time_entry.v1",
    "org.apache.kafka.storage.internals.log.TimeIndex (KIP-33)",
    (Field("timestamp", "q", "ms", "largest timestamp so far, milliseconds since the epoch"), _RELATIVE),
    key="timestamp",
    value="offset",
    strictly_rising=("timestamp",),
    never_falling=("offset",),
    reserved_slots=1,
    first_may_be_zero=True,
    below_first=(-1, None),  # RecordBatch.NO_TIMESTAMP
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
    strictly_rising=("last_offset",),
    offset_range=("first_offset", "last_offset"),
    searched=False,
    preallocated=False,
)
INDEX_FORMATS = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
INDEX_OF_KIND = {index_format.kind: index_format for index_format in INDEX_FORMATS}


class Extent(NamedTuple):
    """How an index file's bytes divide: entries, then a zero tail (preallocation), then a torn entry.

    `entries` counts the whole entries before the zero tail; `zero_tail_bytes` the zeros after them, whole slots only;
    `torn_bytes` the remaining bytes if the file ends inside an entry.
    """

    entries: int
    zero_tail_bytes: int
    torn_bytes: int


def extent_of(index_format: IndexFormat, file: Bytes, *, search: bool = False) -> Extent:
    """Find where an index's entries end: the zeros after them are read backwards, except for a sparse file's holes.

    A new index is zero-filled up to its maximum size and trimmed on roll or clean close (AbstractIndex), so trailing
    zero slots are preallocation. In an offset index, entry 0 is preallocation too if all its bytes are zero, because
    Kafka never indexes position 0. In a time index (0, base) can be real, which only the log shows.

    `search`: if the file ends in zeros that are not a hole, the end of the entries is found by bisection, and the zeros
    are not read. In an index with zero entries between others (KX102), bisection may end at one of those.
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


def zeros_not_read(index_format: IndexFormat, file: Bytes, extent: Extent) -> int:
    """How many bytes of a zero tail that is no hole `extent_of` leaves out when it searches."""
    end = file.size - extent.torn_bytes
    ranges = file.data_ranges(extent.entries * index_format.size, end)
    return max(0, ranges[-1][1] - ranges[0][0] - _SEARCHED_BYTES) if ranges else 0


def _first_zero_slot(file: Bytes, width: int, slots: int) -> int:
    """The first all-zero slot, `slots` if there is none, in a file whose entries all come before it."""
    low, high, zeros = 0, slots, bytes(width)
    while low < high:
        middle = (low + high) // 2
        if file.read(middle * width, width) == zeros:
            high = middle
        else:
            low = middle + 1
    return low


def absolute_offset(base_offset: int, relative_offset: int) -> int:
    """An entry's offset as Kafka's classes (and numpy's int64) compute it: the sum of two Java longs wraps at 2^63."""
    return (base_offset + relative_offset + 2**63) % 2**64 - 2**63


def decode(
    index_format: IndexFormat, buffer: object, base_offset: int = 0, names: Collection[str] = ()
) -> dict[str, npt.NDArray[np.int64]]:
    """Every complete entry of a buffer as int64 arrays, one per field, shape (entries,); values are not checked.

    If offsets are relative, `offset` (absolute) comes first. A torn last entry is left out. `names` selects fields.
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


def entries_array(index_format: IndexFormat, buffer: object, base_offset: int = 0) -> npt.NDArray[np.void]:
    """Every complete entry of a buffer as a structured array, shape (entries,): the fields of `columns`, each int64.

    Offsets are absolute, timestamps in ms since the epoch, positions in bytes.
    """
    import numpy as np

    columns = decode(index_format, buffer, base_offset, index_format.columns)
    count = len(columns[index_format.key])
    array = np.empty(count, [(name, np.int64) for name in index_format.columns])
    for name in index_format.columns:
        array[name] = columns[name]
    return array
