"""A healthy index told without numpy, whose import takes longer than some ten thousand entries do."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping, Sequence
from itertools import islice
from operator import le, lt

from kidx.evidence import Evidence
from kidx.formats.indexes import OFFSET_INDEX, Extent, IndexFormat, decode_plain

_MOST_ENTRIES = 1 << 14
_SPENT_AT_MOST = 40_000  # entries: about as much time as the import takes, and so at most twice what is needed
_spent = 0


def healthy_columns(
    evidence: Evidence, index_format: IndexFormat, extent: Extent, base_offset: int, limit: int
) -> dict[str, array[int]] | None:
    """The entries of an offset or time index, every field and `offset`, absolute, if they are as they should be.

    None where arrays are to look at them: they are many, this process has seen many, or something is wrong with them.
    `limit` is the first relative offset that cannot be in this segment.
    """
    if not _worth_it(extent.entries):
        return None
    columns = decode_plain(index_format, evidence.read(0, extent.entries * index_format.size))
    healthy = _healthy_offsets if index_format is OFFSET_INDEX else _healthy_times
    if extent.entries and not healthy(columns, limit):
        return None
    relative = columns["relative_offset"]
    columns["offset"] = array("q", map(base_offset.__add__, relative)) if base_offset else relative
    return columns


def _worth_it(entries: int) -> bool:
    """Whether to do without numpy: until as much time has gone into that as would have gone into its import."""
    global _spent
    if "numpy" in sys.modules or entries > _MOST_ENTRIES or _spent + entries > _SPENT_AT_MOST:
        return False
    _spent += entries
    return True


def _healthy_offsets(columns: Mapping[str, Sequence[int]], limit: int) -> bool:
    """Whether relative offsets and positions both rise strictly and are in bounds."""
    offsets, positions = columns["relative_offset"], columns["position"]
    return offsets[0] > 0 and positions[0] > 0 and offsets[-1] < limit and _rises(offsets) and _rises(positions)


def _healthy_times(columns: Mapping[str, Sequence[int]], limit: int) -> bool:
    """Whether timestamps rise strictly, relative offsets do not fall, and both are in bounds."""
    timestamps, offsets = columns["timestamp"], columns["relative_offset"]
    if timestamps[0] < 0 or offsets[0] < 0 or offsets[-1] >= limit:
        return False
    return len(offsets) == 1 or (
        offsets[1] > 0 and _rises(timestamps) and all(map(le, offsets, islice(offsets, 1, None)))
    )


def _rises(values: Sequence[int]) -> bool:
    return all(map(lt, values, islice(values, 1, None)))
