"""Reading one index of a segment: what is wrong with it by itself, and its entries for the log to be held against."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kidx.checks.account import Checked, cannot_read
from kidx.checks.index_alone import check_extent, check_index, index_extent
from kidx.checks.index_facts import IndexFacts
from kidx.checks.index_plain import healthy_columns
from kidx.checks.making import limited
from kidx.checks.options import Options
from kidx.checks.transaction_index import check_transaction_index, transaction_extent
from kidx.errors import CannotRead, ChangedWhileRead
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.indexes import TIME_INDEX, TRANSACTION_INDEX, Extent, IndexFormat, decode, decode_plain
from kidx.logdir.names import INDEX_OF_KIND, OFFSET, TIME
from kidx.logdir.tree import DataFile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.checks.against_log import Numbers


class Index(NamedTuple):
    """An index that was read: its entries' arrays without those that are damaged, None where too many are."""

    file: DataFile
    extent: Extent
    size: int
    slots: Numbers | None
    fields: Mapping[str, Numbers]

    @property
    def is_one_zero_entry(self) -> bool:
        """Whether it is a time index of twelve zeros.

        To a broker that is an entry, of timestamp 0 at the base offset, and it writes such a one where the log has
        nothing after 1970 began. So only the log can tell it from preallocation.
        """
        return self.file.kind == TIME and self.size == TIME_INDEX.size == self.extent.zero_tail_bytes


def read_index(
    file: DataFile,
    index_format: IndexFormat,
    facts: IndexFacts,
    options: Options,
    done: Checked,
    *,
    keep_entries: bool = False,
) -> Index | None:
    """Check an index by itself into `done`; None where it cannot be read. `keep_entries` for a log's sake."""
    transactions = index_format is TRANSACTION_INDEX
    try:
        with file.open() as evidence:
            extent = transaction_extent(evidence) if transactions else index_extent(evidence, index_format)
            slots: Numbers | None = None
            fields: Mapping[str, Numbers] = {}
            healthy = None
            if transactions:
                check = check_transaction_index(evidence, facts, extent)
            elif healthy := healthy_columns(evidence, index_format, extent, facts.base_offset, facts.relative_limit):
                check = check_extent(evidence, index_format, facts, extent)
            else:
                check = check_index(evidence, index_format, facts, extent)
            found = list(limited(check))
            if keep_entries and healthy:
                slots, fields = array("q", range(extent.entries)), healthy
            elif keep_entries:
                slots, fields = _sound_entries(evidence, index_format, facts, extent, found)
            if evidence.changed() and not options.live:
                raise ChangedWhileRead(f"{file.path}: it changed while it was read; try again, or with --live")
    except CannotRead as e:
        cannot_read(file, e, options, done)
        return None
    done.findings += found
    done.cover(file.path, evidence.size, entries=extent.entries)
    return Index(file, extent, evidence.size, slots, fields)


def _sound_entries(
    evidence: Evidence, index_format: IndexFormat, facts: IndexFacts, extent: Extent, found: list[Finding]
) -> tuple[Numbers | None, Mapping[str, Numbers]]:
    """Slots and fields of the entries that no finding is about; None where the rest is still out of order."""
    if index_format is TRANSACTION_INDEX and not extent.entries:
        return array("q"), decode_plain(index_format, b"")
    import numpy as np

    fields = decode(index_format, evidence.read(0, extent.entries * index_format.size), facts.base_offset)
    damaged = np.zeros(extent.entries, bool)
    for one in found:
        if one.byte_start is not None and one.byte_end is not None:
            damaged[one.byte_start // index_format.size : -(-one.byte_end // index_format.size)] = True
    slots = (~damaged).nonzero()[0]
    if len(slots) < extent.entries:
        fields = {name: values[slots] for name, values in fields.items()}
    if index_format is not TRANSACTION_INDEX and not _in_order(index_format, fields):
        return None, {}
    return slots, fields


def _in_order(index_format: IndexFormat, fields: dict[str, npt.NDArray[np.int64]]) -> bool:
    steps = {name: fields[name][1:] - fields[name][:-1] for name in (index_format.key, index_format.value)}
    strict = steps.pop("offset") if index_format.kind == OFFSET else steps.pop("timestamp")
    return bool((strict > 0).all()) and all(bool((values >= 0).all()) for values in steps.values())


def check_lone_index(file: DataFile, facts: IndexFacts, options: Options, done: Checked) -> None:
    """Check an index that belongs to no segment here."""
    if read_index(file, INDEX_OF_KIND[file.kind], facts, options, done) is not None:
        done.skip(file.path, "no log beside it, so its entries were not checked against one")
