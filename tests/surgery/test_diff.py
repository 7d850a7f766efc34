"""What a change does to an index, against sets of entries."""

from __future__ import annotations

import struct

from hypothesis import example, given
from hypothesis import strategies as st

from kidx.evidence import from_bytes
from kidx.formats.indexes import OFFSET_INDEX
from kidx.surgery.diff import ADD, REMOVE, EntryChanges
from kidx.surgery.index_file import IndexFile

ENTRIES = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3)), max_size=8)


def index(entries: list[tuple[int, int]]) -> IndexFile:
    return IndexFile(
        "t-0/00000000000000000000.index", OFFSET_INDEX, 0, from_bytes(b"".join(struct.pack(">ii", *e) for e in entries))
    )


@example(before=[(1, 1)], after=[(1, 1), (1, 1)])
@given(before=ENTRIES, after=ENTRIES)
def test_entries_that_only_one_side_has(before: list[tuple[int, int]], after: list[tuple[int, int]]) -> None:
    sides = {REMOVE: (before, after), ADD: (after, before)}
    same = next(
        (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    wanted = [
        (slot, change != REMOVE, change, entry)
        for change, (mine, other) in sides.items()
        for slot, entry in enumerate(mine)
        if slot >= same and entry not in other[same:]
    ]
    changes = EntryChanges(index(before), index(after))
    found = [(c.slot, c.change != REMOVE, c.change, (c.entry["offset"], c.entry["position"])) for c in changes]
    assert found == sorted(wanted)
    assert len(changes) == len(wanted)
