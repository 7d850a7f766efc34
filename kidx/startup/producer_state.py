"""Which producer snapshots a start deletes, reads and writes. Source: ProducerStateManager.

Only offsets are followed, not the producers in the snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kidx.errors import WrongFormat
from kidx.evidence import read_file
from kidx.formats.producer_snapshot import PRODUCER_ENTRY, VERSION, parse_snapshot
from kidx.startup.behaviours import BEHAVIOURS, Behaviour

# offset -> path, None for one that this start has written
Snapshots = dict[int, str | None]
Deleted = Callable[[int, Behaviour], None]


class ProducerStates:
    """One ProducerStateManager over a partition's snapshots, which several of them share on disk.

    `deleted` is called with the offset of each snapshot that is deleted, and why.
    """

    def __init__(self, snapshots: Snapshots, deleted: Deleted) -> None:
        self.snapshots, self._deleted = snapshots, deleted
        self.map_end_offset = self._last_snapshot = 0

    def remove_stray(self, segment_bases: Iterable[int]) -> None:
        """removeStraySnapshots: keep those at a segment's base, and the newest one if it is past the last base."""
        bases = set(segment_bases)
        strays = [offset for offset in sorted(self.snapshots) if offset not in bases]
        newest = strays.pop() if strays and bases and strays[-1] > max(bases) else None
        for offset in strays:
            if offset != newest:
                self._delete(offset, BEHAVIOURS["snapshot-stray"])

    def truncate_and_reload(self, log_start: int, log_end: int) -> None:
        """truncateAndReload: delete what is out of range, then load the newest one that can be read."""
        for offset in sorted(self.snapshots):
            if offset > log_end or offset <= log_start:
                self._delete(offset, BEHAVIOURS["snapshot-out-of-range"])
        if log_end == self.map_end_offset:
            return
        while self.snapshots:
            newest = max(self.snapshots)
            if _readable(self.snapshots[newest]):
                self.map_end_offset = self._last_snapshot = newest
                return
            self._delete(newest, BEHAVIOURS["snapshot-corrupt"])
        self.map_end_offset = self._last_snapshot = log_start

    def truncate_fully(self, offset: int) -> None:
        """truncateFullyAndStartAt: no snapshot stays."""
        for each in sorted(self.snapshots):
            self._delete(each, BEHAVIOURS["snapshot-out-of-range"])
        self.map_end_offset, self._last_snapshot = offset, 0

    def take_snapshot(self) -> None:
        """takeSnapshot: written only where the map has moved since the last one."""
        if self.map_end_offset > self._last_snapshot:
            self.snapshots[self.map_end_offset] = None
            self._last_snapshot = self.map_end_offset

    def _delete(self, offset: int, why: Behaviour) -> None:
        self.snapshots.pop(offset, None)
        self._deleted(offset, why)


def _readable(path: str | None) -> bool:
    if path is None:
        return True
    try:
        data = read_file(path)
        snapshot = parse_snapshot(data)
    except WrongFormat:
        return False
    whole = snapshot.entry_count * PRODUCER_ENTRY.size <= len(data)
    return snapshot.version == VERSION and snapshot.crc_ok and whole and not snapshot.extra_bytes
