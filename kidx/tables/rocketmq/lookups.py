"""The tables of `kidx rocketmq lookup`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kidx.errors import meant
from kidx.exit_status import UNREADABLE
from kidx.rocketmq.batch_queues import BatchConsumeQueue
from kidx.rocketmq.broker_version import CLASSIC, CURRENT
from kidx.rocketmq.file_kinds import RocksDbQueues
from kidx.rocketmq.java import JavaThrows
from kidx.rocketmq.key_lookup import find_key
from kidx.rocketmq.offset_lookup import locate
from kidx.rocketmq.replayed_queues import NOTE
from kidx.rocketmq.search_pages import pages_of, probe_rows
from kidx.rocketmq.store import Store
from kidx.rocketmq.time_search import BatchSearch, Search
from kidx.tables.rocketmq.kafka_comparison import kafka_search
from kidx.tables.table import INT, TEXT, TIMESTAMP, TREE, Column, Notes, Table

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
    store: Store, topic: str, queue_id: int, times: Iterable[int], boundary: str, *, trace: bool = False
) -> Table:
    """kidx.rocketmq_lookup.v1: one row per time, epoch ms. If the store would throw, offset is null, `why` set.

    `trace` adds each search's probes, the pages they touch and Kafka's search. Queues in RocksDB are answered from the
    commit log, without a trace.
    """
    notes = Notes()
    if store.layout.rocksdb:
        notes.add(NOTE)
    columns = [*TIME_COLUMNS, *TRACE_COLUMNS]
    if store.layout.rocksdb:
        rows = _replayed_rows(store, topic, queue_id, times, boundary)
        return Table("kidx.rocketmq_lookup.v1", columns, rows, notes=notes)
    if store.queue(topic, queue_id) is None:
        near = meant(topic, {name for name, _ in store.names()} - {topic})
        root = store.layout.root
        notes.add(f"{root}: no queue {topic}/{queue_id}; the answer is that of a broker, which creates one{near}")
    rows = _time_rows(store, topic, queue_id, times, boundary, trace, notes)
    return Table("kidx.rocketmq_lookup.v1", columns, rows, notes=notes)


def _time_rows(
    store: Store, topic: str, queue_id: int, times: Iterable[int], boundary: str, trace: bool, notes: Notes
) -> Iterator[list[Any]]:
    queue = store.queue(topic, queue_id)
    search: Search | BatchSearch | None = None
    if isinstance(queue, BatchConsumeQueue):
        search = BatchSearch(queue)
    elif queue is not None:
        search = Search(queue, store.log, checks_end=store.version.checks_log_end)
    algorithm = CURRENT if isinstance(search, BatchSearch) else store.version.algorithm
    for time in times:
        offset, why = 0, None
        try:
            if isinstance(search, Search) and algorithm == CLASSIC:
                offset = search.classic(time, clamp=store.five)
            elif search is not None:
                offset = search.current(time, boundary)
        except JavaThrows as e:
            why = str(e)
            notes.add(f"{topic}/{queue_id} at {time}: {e}", UNREADABLE)
        answer = [algorithm, boundary if algorithm == CURRENT else None, None if why else offset, why]
        traced: list[Any] = [None] * len(TRACE_COLUMNS)
        if trace:
            probes = search.probes if search else []
            kafka = None if queue is None or why else kafka_search(queue, offset)
            traced = [probe_rows(probes, queue), pages_of(probes, queue), kafka]
        yield [topic, queue_id, time, *answer, *traced]


def _replayed_rows(store: Store, topic: str, queue_id: int, times: Iterable[int], boundary: str) -> Iterator[list[Any]]:
    """Rows of a store whose queues are in RocksDB; which pages a search there touches is unknown."""
    queue = store.replayed.get((topic, queue_id))
    for time in times:
        offset = queue.by_time(time, boundary, store.version.number) if queue else 0
        yield [topic, queue_id, time, CURRENT, boundary, offset, *[None] * 4]


def offset_table(store: Store, topic: str, queue_id: int, offsets: Sequence[int]) -> Table:
    """kidx.rocketmq_offset.v1: where a queue offset lies: arithmetic, then the unit, no search.

    Raises RocksDbQueues where the queues are in RocksDB.
    """
    if store.layout.rocksdb:
        raise RocksDbQueues(
            f"{store.layout.root}: the queues are in RocksDB (5.2 on), which kidx does not read: no unit can be shown"
        )
    names = ("topic", "queue", "offset", "file", "position", "state", "commit_log_offset", "size", "tag_code")
    columns = [Column(name, TEXT if name in ("topic", "file", "state") else INT) for name in names]
    columns += [Column("timestamp", TIMESTAMP, "ms"), Column("pages", TREE)]
    queue = store.queue(topic, queue_id)
    rows = ([topic, queue_id, offset, *locate(store, queue, offset)] for offset in offsets)
    return Table("kidx.rocketmq_offset.v1", columns, rows)


def key_table(store: Store, topic: str, keys: Sequence[str], most: int, begin: int, end: int) -> Table:
    """kidx.rocketmq_key.v1: commit-log offsets of a key's hash, newest first."""
    columns = (Column("topic", TEXT), Column("key", TEXT), Column("commit_log_offsets", TREE))
    rows = ([topic, key, find_key(store, topic, key, most, begin, end)] for key in keys)
    return Table("kidx.rocketmq_key.v1", columns, rows)
