"""The tables of `kidx rocketmq lookup`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from kidx.errors import UsageError
from kidx.rocketmq.batch_queues import BatchConsumeQueue
from kidx.rocketmq.behaviour import CLASSIC, CURRENT
from kidx.rocketmq.java import JavaThrows
from kidx.rocketmq.store import Store
from kidx.rocketmq.time_search import BatchSearch, Search
from kidx.rocketmq.touched import pages_of, probe_rows
from kidx.tables.rocketmq.kafka_comparison import kafka_beside
from kidx.tables.table import INT, TEXT, TIMESTAMP, TREE, Column, Table

TIME_COLUMNS = (
    Column("topic", TEXT),
    Column("queue"),
    Column("time", TIMESTAMP, "ms"),
    Column("algorithm", TEXT),
    Column("boundary", TEXT),
    Column("offset"),
    Column("why", TEXT),
)
TRACE_COLUMNS = (Column("probes", TREE), Column("pages", TREE), Column("kafka", TREE))


def time_table(
    store: Store, topic: str, queue_id: int, times: Sequence[str], boundary: str, trace: bool, failed: list[str]
) -> Table:
    """kidx.rocketmq_lookup.v1: a row a time. Where the store would throw, offset is null and `why` says so."""
    if store.layout.rocksdb:
        return replayed_time_table(store, topic, queue_id, times, boundary)
    queue = store.queue(topic, queue_id)
    search: Search | BatchSearch | None = None
    if isinstance(queue, BatchConsumeQueue):
        search = BatchSearch(queue)
    elif queue is not None:
        search = Search(queue, store.log, checks_end=store.behaviour.checks_log_end)
    algorithm = CURRENT if isinstance(search, BatchSearch) else store.behaviour.algorithm
    said_boundary = boundary if algorithm == CURRENT else None

    def rows() -> Iterator[list[Any]]:
        for time in _times(times):
            offset, why = 0, None
            try:
                if isinstance(search, Search) and algorithm == CLASSIC:
                    offset = search.classic(time, clamp=store.five)
                elif search is not None:
                    offset = search.current(time, boundary)
            except JavaThrows as e:
                why = str(e)
                failed.append(f"{topic}/{queue_id} at {time}: {e}")
            row = [topic, queue_id, time, algorithm, said_boundary, None if why else offset, why]
            if not trace:
                yield [*row, None, None, None]
                continue
            probes = search.probes if search else []
            kafka = None if queue is None or why else kafka_beside(queue, offset)
            yield [*row, probe_rows(probes, queue), pages_of(probes, queue), kafka]

    return Table("kidx.rocketmq_lookup.v1", [*TIME_COLUMNS, *TRACE_COLUMNS], rows())


def replayed_time_table(store: Store, topic: str, queue_id: int, times: Sequence[str], boundary: str) -> Table:
    """The same table for a store whose queues are in RocksDB; what a probe there touches is RocksDB's affair."""
    queue = store.replayed.get((topic, queue_id))
    rows = (
        [
            topic,
            queue_id,
            time,
            CURRENT,
            boundary,
            queue.by_time(time, boundary, store.behaviour.version) if queue else 0,
            *[None] * 4,
        ]
        for time in _times(times)
    )
    return Table("kidx.rocketmq_lookup.v1", [*TIME_COLUMNS, *TRACE_COLUMNS], rows)


def _times(times: Sequence[str]) -> Iterator[int]:
    for said in times:
        for text in sys.stdin if said == "-" else (said,):
            if text.strip():
                try:
                    yield int(text)
                except ValueError:
                    raise UsageError(f"{text.strip()}: a time in epoch milliseconds is wanted") from None


def offset_table(store: Store, topic: str, queue_id: int, offsets: Sequence[int]) -> Table:
    """kidx.rocketmq_offset.v1: where a queue offset lies: pure arithmetic, then the unit, no search."""
    from kidx.rocketmq.by_offset import locate

    names = ("topic", "queue", "offset", "file", "position", "state", "commit_log_offset", "size", "tag_code")
    columns = [Column(name, TEXT if name in ("topic", "file", "state") else INT) for name in names]
    columns += [Column("timestamp", TIMESTAMP, "ms"), Column("pages", TREE)]
    queue = store.queue(topic, queue_id)
    rows = ([topic, queue_id, offset, *locate(store, queue, offset)] for offset in offsets)
    return Table("kidx.rocketmq_offset.v1", columns, rows)


def key_table(store: Store, topic: str, keys: Sequence[str], most: int, begin: int, end: int) -> Table:
    """kidx.rocketmq_key.v1: commit-log offsets of a key's hash, newest first."""
    from kidx.rocketmq.keys import find_key

    columns = (Column("topic", TEXT), Column("key", TEXT), Column("commit_log_offsets", TREE))
    rows = ([topic, key, find_key(store, topic, key, most, begin, end)] for key in keys)
    return Table("kidx.rocketmq_key.v1", columns, rows)
