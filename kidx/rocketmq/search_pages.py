"""Which 4 KB pages a time search touches, in the consume queue and in the commit log, cold and warm.

A probe reads 12 bytes of a unit; units of 20 bytes do not divide a page, so some straddle two. In the commit log it
reads 4 bytes at +36 (SYSFLAG) and 8 at +56 or +68 (store time), nothing for an expired unit. Cold is a queue's first
search after the broker's start; later ones use cached first and last times of files and skip probes of phase `files`
that found one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kidx.pages.geometry import pages_of_bytes
from kidx.rocketmq.batch_queues import BatchConsumeQueue
from kidx.rocketmq.commit_log import SYS_FLAG_AT
from kidx.rocketmq.files import MappedFile
from kidx.rocketmq.formats import BORN_V6
from kidx.rocketmq.store import Queue
from kidx.rocketmq.time_search import FILES, Probe

Page = tuple[str, int]  # the file's base offset, as its name, and the page in it
_BATCH_READ = (20, 8)  # a batch unit's store time


def queue_pages(probe: Probe, batch: bool) -> list[Page]:
    """Pages of the queue file that a probe reads."""
    start, length = _BATCH_READ if batch else (0, 12)
    return _pages(probe.file, probe.position + start, length)


def log_pages(probe: Probe) -> list[Page]:
    """Pages of the commit log that a probe reads."""
    if probe.message is None:
        return []
    file, position = probe.message
    flag = int.from_bytes(file.read(position + SYS_FLAG_AT, 4), signed=True)
    time_at = 68 if flag & BORN_V6 else 56
    return _distinct([*_pages(file, position + SYS_FLAG_AT, 4), *_pages(file, position + time_at, 8)])


def probe_rows(probes: Sequence[Probe], queue: Queue | None) -> list[dict[str, Any]]:
    """Each probe with its pages, as JSON has it."""
    if queue is None:
        return []
    batch = isinstance(queue, BatchConsumeQueue)
    return [
        {
            "phase": probe.phase,
            "offset": (probe.file.base + probe.position) // queue.unit_bytes,
            "commit_log_offset": probe.commit_log_offset,
            "timestamp": probe.timestamp,
            "consume_queue": _json(queue_pages(probe, batch)),
            "commit_log": _json(log_pages(probe)),
        }
        for probe in probes
    ]


def pages_of(probes: Sequence[Probe], queue: Queue | None) -> dict[str, Any]:
    """Distinct pages in order of first touch: cold, and under `warm` those of every later search."""
    batch = isinstance(queue, BatchConsumeQueue)
    warm = [probe for probe in probes if batch or probe.phase != FILES or (probe.timestamp or 0) <= 0]
    return {**_both(probes, batch), "warm": _both(warm, batch)}


def _both(probes: Iterable[Probe], batch: bool) -> dict[str, Any]:
    probes = list(probes)
    return {
        "consume_queue": _json(_distinct(page for p in probes for page in queue_pages(p, batch))),
        "commit_log": _json(_distinct(page for p in probes for page in log_pages(p))),
    }


def _pages(file: MappedFile, start: int, length: int) -> list[Page]:
    return [(f"{file.base:020d}", page) for page in pages_of_bytes(start, start + length)]


def _distinct(pages: Iterable[Page]) -> list[Page]:
    return list(dict.fromkeys(pages))


def _json(pages: Iterable[Page]) -> list[dict[str, Any]]:
    return [{"file": file, "page": page} for file, page in pages]
