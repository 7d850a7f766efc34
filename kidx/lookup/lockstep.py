"""The slots that many searches read, at once: one row a search, over indexes of any length, keys not needed.

Which slots a search reads depends on the index's length, the slot it ends in, and whether it hits an entry exactly. So
a simulation of an index that grows needs no index: Kafka's searches (kidx.lookup.search) run here in lock-step over
arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NO_SLOT = -1


def probed_slots(
    entries: npt.NDArray[np.int64], slots: npt.NDArray[np.int64], warm_entries: int | None, *, exact: bool = False
) -> npt.NDArray[np.int64]:
    """Slots read by searches that end in `slots` of indexes of `entries` entries; shape (searches, most reads).

    `warm_entries` is the warm section's length in entries, None for the standard search. `exact`: the target equals the
    entry found; otherwise it lies behind it. Rows end in NO_SLOT where they are shorter. Slots must be within 0 and
    entries - 1.
    """
    import numpy as np

    count = len(entries)
    zero = np.zeros(count, np.int64)
    if warm_entries is None:
        columns = [zero]
        low, high = zero.copy(), entries - 1
    else:
        first_warm = np.maximum(0, entries - 1 - warm_entries)
        in_warm = first_warm < slots if exact else first_warm <= slots
        columns = [first_warm, np.where(in_warm, NO_SLOT, 0)]
        low = np.where(in_warm, first_warm, 0)
        high = np.where(in_warm, entries - 1, first_warm)
    going = low < high
    while going.any():
        middle = (low + high + 1) >> 1
        columns.append(np.where(going, middle, NO_SLOT))
        over = middle > slots
        high = np.where(going & over, middle - 1, high)
        low = np.where(going & ~over, middle, low)
        going &= low < high
        if exact:
            going &= middle != slots
    return np.stack(columns, axis=1)


def pages_in_order(
    probed: npt.NDArray[np.int64], entry_bytes: int, page_bytes: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The pages that rows of probed slots touch: (row, page) as two flat arrays, in order, straddled pages both.

    A page touched by two reads in a row stands there once; one that is come back to stands there again.
    """
    import numpy as np

    start = probed * entry_bytes
    first = np.where(probed == NO_SLOT, -1, start // page_bytes)
    last = np.where(probed == NO_SLOT, -1, (start + entry_bytes - 1) // page_bytes)
    both = np.stack([first, last], axis=2).reshape(len(probed), 2 * probed.shape[1])
    keep = both >= 0
    keep[:, 1:] &= both[:, 1:] != both[:, :-1]
    row, column = np.nonzero(keep)
    return row, both[row, column]
