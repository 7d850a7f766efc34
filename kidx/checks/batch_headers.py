"""What single batches' headers say that cannot be, window by window: CRCs, counts, codecs, offsets out of bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kidx.checks.making import finding
from kidx.checks.stretch import LogFacts
from kidx.findings import Finding
from kidx.formats.compression import ZSTD
from kidx.formats.indexes import MAX_RELATIVE_OFFSET

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Window

    Ints = npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]


def of_batch(
    path: str, code: str, window: Window, row: int, said: str, *, expected: object = None, found: object = None
) -> Finding:
    """A finding about the batch of one row."""
    at = int(window.position[row])
    offset = int(window.column("base_offset")[row])
    return finding(
        code,
        path,
        f"the batch at byte {at} (base offset {offset}): {said}",
        span=(at, at + int(window.size[row])),
        expected=expected,
        found=found,
    )


def wrong_crcs(path: str, window: Window) -> Iterator[Finding]:
    """Batches whose CRC does not hold."""
    for row in window.bad_crc or []:
        yield of_batch(
            path,
            "KX301",
            window,
            row,
            "its bytes do not have the CRC that its header says",
            found=f"{int(window.column('crc')[row]):08x} in the header",
        )


def impossible(window: Window) -> Bools:
    """Which batches' headers contradict themselves, (batches,). A marker stands alone, in a producer's transaction."""
    span, count = window.column("last_offset_delta") + 1, window.column("record_count")
    new, producer = window.column("magic") == 2, window.column("producer_id")
    odd: Bools = (
        (window.column("base_offset") < 0) | (span < 1) | (new & ((count < 0) | (count > span))) | (window.codec > ZSTD)
    )
    marker = window.control & (producer >= 0)
    odd |= (window.transactional & (producer < 0)) | (marker & (~window.transactional | (span > 1)))
    return odd


def wrong_fields(path: str, facts: LogFacts, window: Window, good: Bools, first_offsets: Ints) -> Iterator[Finding]:
    """Batches whose counts or codec cannot be, or whose offsets cannot be in this segment."""
    import numpy as np

    base, last, count = window.column("base_offset"), window.last_offset, window.column("record_count")
    span, odd = window.column("last_offset_delta") + 1, impossible(window)
    for row in np.nonzero(odd & good)[0].tolist():
        yield of_batch(
            path,
            "KX307",
            window,
            row,
            f"its header says base offset {base[row]}, last offset delta {span[row] - 1}, {count[row]} records, "
            f"codec {window.codec[row]}{_kind(window, row)}, which cannot be",
        )
    before = good & ~odd & (first_offsets < facts.base_offset)
    far = good & ~odd & (last - facts.base_offset > MAX_RELATIVE_OFFSET)
    for row in np.nonzero(far)[0].tolist():
        yield of_batch(
            path,
            "KX309",
            window,
            row,
            f"its last offset {last[row]} is more than 2^31-1 past the segment's base {facts.base_offset}",
            expected=facts.base_offset + MAX_RELATIVE_OFFSET,
            found=int(last[row]),
        )
    beyond = before
    if facts.next_base_offset is not None:
        beyond = before | (good & ~odd & ~far & (last >= facts.next_base_offset))
    for row in np.nonzero(beyond)[0].tolist():
        end = "" if facts.next_base_offset is None else f" to {facts.next_base_offset - 1}"
        yield of_batch(
            path,
            "KX310",
            window,
            row,
            f"it holds offsets {first_offsets[row]} to {last[row]}; the segment's are {facts.base_offset}{end}",
            found=[int(first_offsets[row]), int(last[row])],
        )


def _kind(window: Window, row: int) -> str:
    """What a header says of transactions."""
    words = [word for word, bits in (("transactional", window.transactional), ("control", window.control)) if bits[row]]
    return f", {' and '.join(words)} of producer {window.column('producer_id')[row]}" if words else ""
