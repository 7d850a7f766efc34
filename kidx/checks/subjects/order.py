"""Ascending values: where a range of them lies, and which ones break the order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def between(values: npt.ArrayLike, first: int, last: int) -> tuple[int, int]:
    """Where in rising int64 `values` those from `first` to `last`, itself included, begin and end; `last` may be the
    largest int64."""
    import numpy as np

    values = np.asarray(values)
    return int(values.searchsorted(first)), int(values.searchsorted(last, "right"))


def out_of_order(values: npt.NDArray[np.int64], *, strict: bool) -> npt.NDArray[np.int64]:
    """Indexes of the values that break the order, ascending; shape (broken,).

    A fall between two neighbours blames the one without which the rest is in order: a value that jumped up blames
    itself, not its successor. If either would do, as for two that were swapped, it blames the later one.
    """
    import numpy as np

    if len(values) < 2:
        return np.empty(0, np.int64)
    falls = values[1:] <= values[:-1] if strict else values[1:] < values[:-1]
    first = np.nonzero(falls)[0]
    if not len(first):
        return first
    second = first + 1
    lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    before = np.where(first > 0, values[first - 1], lowest)
    after = np.where(second + 1 < len(values), values[np.minimum(second + 1, len(values) - 1)], highest)
    without_first = before < values[second] if strict else before <= values[second]
    without_second = values[first] < after if strict else values[first] <= after
    return np.unique(np.where(without_first & ~without_second, first, second))
