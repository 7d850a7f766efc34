"""The cost of look-ups when memory is short: a workload's page touches, replayed against a page cache.

All pages share one cache, as on a broker: index pages that look-ups read and appends write, log pages that appends
write and readers fetch. Log pages are many and are used once; they evict index pages that were not used recently. With
the standard search, a look-up needs exactly those pages when the index grows by a page and the midpoints move
(KAFKA-6432).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kidx.errors import UsageError
from kidx.lookup.many_lookups import pages_in_order, probed_slots
from kidx.lookup.workload import Workload
from kidx.pages.cache import PageCache
from kidx.pages.geometry import PAGE_BYTES

if TYPE_CHECKING:
    import numpy.typing as npt

_APPEND = -1  # instead of a reader's number
_EVENTS_AT_ONCE = 1 << 16
_PARTITION_SHIFT, _LOG_SHIFT = 36, 35  # a page's number: partition, log or index, page of the file


class LookUps(NamedTuple):
    """The cost of every look-up of a simulation; arrays of one length, in order of time.

    `seconds` float64, `reader` int16 (its number in the workload), `partition` int32, `entries` int64 (the index's
    length then), `index_faults` and `log_faults` int32.
    """

    seconds: npt.NDArray[np.float64]
    reader: npt.NDArray[np.int16]
    partition: npt.NDArray[np.int32]
    entries: npt.NDArray[np.int64]
    index_faults: npt.NDArray[np.int32]
    log_faults: npt.NDArray[np.int32]


class _Events(NamedTuple):
    seconds: npt.NDArray[np.float64]
    who: npt.NDArray[np.int16]
    partition: npt.NDArray[np.int32]
    entries: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int64]


def simulate(
    workload: Workload,
    cache: PageCache,
    warm_bytes: int | None,
    *,
    page_bytes: int = PAGE_BYTES,
    away: frozenset[int] = frozenset(),
) -> LookUps:
    """Run a workload. `warm_bytes` is the warm section's length, None for the standard search.

    `away` has the numbers of readers that read from another machine (RocketMQ's slave): their look-ups touch no page
    here and are left out. Deterministic.
    """
    warm_entries = None if warm_bytes is None else warm_bytes // workload.entry_bytes
    if warm_entries is not None and warm_entries < 1:
        raise UsageError(f"a warm section of {warm_bytes} bytes holds no entry of {workload.entry_bytes} bytes")
    _warm_up(workload, cache, page_bytes)
    parts = [_run(events, workload, cache, warm_entries, page_bytes) for events in _schedule(workload, away)]
    columns: Any = [np.concatenate(column) for column in zip(*parts, strict=True)]
    look_ups = LookUps(*columns)
    if not look_ups.seconds.size:
        raise UsageError("the workload has no look-ups: give it a reader that stays, or entries to look up")
    return look_ups


def _warm_up(workload: Workload, cache: PageCache, page_bytes: int) -> None:
    """Put the pages written before the start into the cache, as many as fit: index pages, then the log's end."""
    pages = -(-workload.start * workload.entry_bytes // page_bytes)
    for page in range(max(0, pages - cache.capacity), pages):
        cache.replay([(p << _PARTITION_SHIFT) + page for p in range(workload.partitions)])
    end = (1 << _LOG_SHIFT) + workload.start * workload.log_pages
    for page in range(end - min(workload.start, 1) * workload.log_pages, end):
        cache.replay([(p << _PARTITION_SHIFT) + page for p in range(workload.partitions)])


def _schedule(workload: Workload, away: frozenset[int]) -> Iterator[_Events]:
    """All events in order of time, in groups. Readers of a kind are spread evenly over their period."""
    sources = [(_APPEND, workload.append, 1)]
    sources += [(i, r.rate, r.members) for i, r in enumerate(workload.readers) if i not in away]
    a_second = workload.partitions * sum(rate * members for _, rate, members in sources)
    step = max(min(_EVENTS_AT_ONCE / max(a_second, 1e-9), workload.seconds), 1e-6)
    for n in range(int(np.ceil(workload.seconds / step))):
        start, end = n * step, min((n + 1) * step, workload.seconds)
        parts = [_ticks(workload, *source, start, end) for source in sources if source[1] > 0]
        columns: Any = [np.concatenate(column) for column in zip(*parts, strict=True)]
        seconds, who, partition = columns[:3]
        order = np.lexsort((partition, who, seconds))
        yield _Events(*(column[order] for column in columns))


def _ticks(workload: Workload, who: int, rate: float, members: int, start: float, end: float) -> _Events:
    """Events of one source within [start, end): each partition and reader has its own phase, `rate` a second."""
    many = workload.partitions * members
    phase = (np.arange(many) * 0.6180339887498949) % 1.0  # spreads any number of them evenly
    first = np.ceil(start * rate - phase)
    steps = np.maximum(np.ceil(end * rate - phase) - first, 0).astype(np.int64)
    source = np.repeat(np.arange(many), steps)
    number = np.arange(len(source)) - np.repeat(np.cumsum(steps) - steps, steps) + first[source]
    seconds = (number + phase[source]) / rate
    partition = (source % workload.partitions).astype(np.int32)
    # How many entries a partition has at a time: those of the start, and one a tick of its append clock so far.
    append_phase = (partition * 0.6180339887498949) % 1.0
    appended = np.maximum(np.ceil(seconds * workload.append - append_phase), 0).astype(np.int64)
    if who == _APPEND:
        entries = workload.start + number.astype(np.int64) + 1
        slot = entries - 1
    else:
        entries = workload.start + appended
        reader = workload.readers[who]
        step = max(1, reader.read_pages // max(1, workload.log_pages))
        slot = entries - 1 - reader.lag + number.astype(np.int64) * step % (reader.lag + 1)
    return _Events(seconds, np.full(len(source), who, np.int16), partition, entries, np.maximum(slot, 0))


def _run(
    events: _Events, workload: Workload, cache: PageCache, warm_entries: int | None, page_bytes: int
) -> tuple[npt.NDArray[np.generic], ...]:
    """Replay some events: each turned into its index pages, then its log pages."""
    searches = np.flatnonzero((events.who != _APPEND) & (events.entries > 0))
    appends = np.flatnonzero(events.who == _APPEND)
    probed = probed_slots(events.entries[searches], events.slot[searches], warm_entries)
    row, page = pages_in_order(probed, workload.entry_bytes, page_bytes)
    written = events.slot[appends] * workload.entry_bytes // page_bytes
    log_owner, log_page = _log_pages(events, workload)
    owner = np.concatenate([searches[row], appends, log_owner])
    page = np.concatenate([page, written, log_page + (1 << _LOG_SHIFT)])
    page += events.partition[owner].astype(np.int64) << _PARTITION_SHIFT
    order = np.argsort(owner, kind="stable")  # an event's index pages stay before its log pages
    owner, page = owner[order], page[order]
    missed = np.array(cache.replay(page.tolist()), np.int64)
    is_log = (page[missed] >> _LOG_SHIFT & 1).astype(bool)
    index_faults = np.bincount(owner[missed[~is_log]], minlength=len(events.who))
    log_faults = np.bincount(owner[missed[is_log]], minlength=len(events.who))
    return (
        events.seconds[searches],
        events.who[searches],
        events.partition[searches],
        events.entries[searches],
        index_faults[searches].astype(np.int32),
        log_faults[searches].astype(np.int32),
    )


def _log_pages(events: _Events, workload: Workload) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(event, page of its partition's log), in order: what appends write and readers fetch, up to the log's end."""
    per_entry = workload.log_pages
    start = events.slot * per_entry
    wanted = np.full(len(events.who), per_entry, np.int64)
    for number, reader in enumerate(workload.readers):
        wanted[events.who == number] = reader.read_pages
    wanted = np.maximum(np.minimum(wanted, events.entries * per_entry - start), 0)
    owner = np.repeat(np.arange(len(wanted)), wanted)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    return owner, start[owner] + within
