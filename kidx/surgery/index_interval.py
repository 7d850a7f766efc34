"""The index.interval.bytes of a partition: from the option, the topic's configuration, or the indexes that are there.

Source of the spacing: LogSegment.append adds an entry before a batch once more than index.interval.bytes lie between
the last entry's position and this batch's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from kidx.errors import CannotRead, LimitExceeded, WrongFormat
from kidx.evidence import absolute
from kidx.formats.indexes import DEFAULT_INDEX_INTERVAL_BYTES, OFFSET_INDEX, decode
from kidx.logdir.names import LOG, OFFSET
from kidx.logdir.tree import Partition, Segment
from kidx.segments.scan import scan

if TYPE_CHECKING:
    from kidx.logdir.cluster import Cluster

_SEGMENTS_READ = 8
_MAX_INDEX_BYTES = 1 << 20
_ROUND = sorted({*(1 << n for n in range(31)), *(d * 10**n for n in range(9) for d in (1, 2, 3, 4, 5))}, reverse=True)


class Interval(NamedTuple):
    """An index.interval.bytes, its source, whether it is a guess, and which files could not be read for it."""

    bytes: int
    source: str
    guessed: bool
    unread: tuple[str, ...] = ()


def interval_of(partition: Partition, cluster: Cluster) -> Interval:
    """A partition's interval: by the topic's configuration in the cluster's metadata, else by its entries' spacing."""
    if partition.name is not None:
        setting = cluster.setting(partition.name.topic, "index.interval.bytes")
        if setting is not None and setting.value.isascii() and setting.value.isdigit() and len(setting.value) < 11:
            return Interval(int(setting.value), f"the {setting.source}'s configuration in __cluster_metadata", False)
    unread: list[str] = []
    bounds = _bounds(partition, unread)
    if bounds is None:
        default = "Kafka's default, because nothing here shows the topic's"
        return Interval(DEFAULT_INDEX_INTERVAL_BYTES, default, True, tuple(unread))
    return Interval(_roundest(*bounds), "the spacing of the intact entries", True, tuple(unread))


class IntervalFinder:
    """Finds the interval of each partition by its directory, once.

    `asked` is the interval of all of them where the user gives it. `cluster_of` is kidx.state.metadata's. `report` gets
    a sentence about each interval that was found.
    """

    def __init__(
        self,
        cluster_of: Callable[[list[str]], Cluster],
        asked: int | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self._cluster_of, self._asked, self._report = cluster_of, asked, report
        self._found: dict[str, Interval] = {}

    def __call__(self, directory: str) -> Interval:
        """The interval of the partition in this directory."""
        if directory not in self._found:
            self._found[directory] = self._find(directory)
        return self._found[directory]

    def _find(self, directory: str) -> Interval:
        if self._asked is not None:
            return Interval(self._asked, "--index-interval-bytes", False)
        partition = Partition(directory)
        found = interval_of(partition, self._cluster_of([partition.log_dir]))
        if self._report:
            advice = "; give --index-interval-bytes if you know better" if found.guessed else ""
            source = f"guessed from {found.source}" if found.guessed else f"from {found.source}"
            name = os.path.basename(absolute(directory))
            self._report(f"{name}: index.interval.bytes {found.bytes}, {source}{advice}")
        return found


def _bounds(partition: Partition, unread: list[str]) -> tuple[int, int] | None:
    """The least interval that explains most gaps between entries, and the largest that explains all of them.

    A gap is larger than the interval, and without its last batch not larger. The latter does not hold after a restart,
    nor where a follower appended several batches at once, so only the median counts. None where no entry is intact.
    Why a file could not be read is added to `unread`.
    """
    without_last: list[int] = []
    gaps: list[int] = []
    for segment in islice((s for s in reversed(partition.segments) if OFFSET in s.files), _SEGMENTS_READ):
        try:
            positions, starts = _entry_positions(segment), _batch_starts(segment)
        except (LimitExceeded, WrongFormat):
            continue
        except CannotRead as e:
            unread.append(str(e))
            continue
        number = {start: n for n, start in enumerate(starts)}
        for before, position in pairwise([0, *positions]):
            if before in number and position in number and before < position:
                gaps.append(position - before)
                without_last.append(starts[number[position] - 1] - before)
    if not gaps:
        return None
    return sorted(without_last)[(len(without_last) - 1) // 2], min(gaps) - 1


def _entry_positions(segment: Segment) -> list[int]:
    file = segment.files[OFFSET]
    with file.open() as evidence:
        data = evidence.read(0, min(evidence.size, _MAX_INDEX_BYTES) // OFFSET_INDEX.size * OFFSET_INDEX.size)
    return [int(p) for p in decode(OFFSET_INDEX, data, names=("position",))["position"]]


def _batch_starts(segment: Segment) -> list[int]:
    with segment.files[LOG].open() as log:
        return [int(p) for window in scan(log, check_crc=False) for p in window.position]


def _roundest(least: int, most: int) -> int:
    """The most likely setting: Kafka's default, else the largest round number."""
    if least <= DEFAULT_INDEX_INTERVAL_BYTES <= most:
        return DEFAULT_INDEX_INTERVAL_BYTES
    return next((n for n in _ROUND if least <= n <= most), max(0, most))
