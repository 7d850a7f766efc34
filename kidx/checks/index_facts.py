"""What is known about an index from what lies around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kidx.findings import NOTE

LARGEST_OFFSET = 2**63 - 1

UNKNOWN_STOP = "whether its broker still writes to it, its surroundings do not tell"


class IndexFacts(NamedTuple):
    """What is known about an index from its surroundings.

    `next_base_offset` is the first offset that cannot be in this segment, None where nobody knows. `zero_tail` tells
    the severity of preallocation here and why; it is asked only where there is some.
    """

    base_offset: int
    next_base_offset: int | None = None
    zero_tail: Callable[[], tuple[str, str]] = lambda: (NOTE, UNKNOWN_STOP)

    @property
    def relative_limit(self) -> int:
        """The first relative offset that cannot be in this segment."""
        end = LARGEST_OFFSET + 1 if self.next_base_offset is None else self.next_base_offset
        return end - self.base_offset
