"""A store as it is after a broker has loaded it, recovery included. All in memory: the files do not change.

Sources: DefaultMessageStore.load, CommitLog.recoverNormally and recoverAbnormally, ConsumeQueueStore, IndexService of
RocketMQ 4.9.8 and 5.5.1; of 5.0.0, 5.2.0, 5.3.1, 5.3.3 and 5.4.0 where they differ. Queues are built on first use: a
look-up in one does not read the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from kidx.errors import KidxError
from kidx.rocketmq.batch_queues import BatchConsumeQueue
from kidx.rocketmq.broker_version import BrokerVersion, version_of, written_by_five
from kidx.rocketmq.checkpoint import Checkpoint
from kidx.rocketmq.commit_log import CommitLog, take_end_marker, walk
from kidx.rocketmq.config import StoreConfig, common_size
from kidx.rocketmq.files import MappedFile, OpenFiles, series_refusal
from kidx.rocketmq.formats import MAGIC_V1, UNIT
from kidx.rocketmq.index_file import DEFAULT_ENTRIES, DEFAULT_SLOTS, IndexFile, infer_shape
from kidx.rocketmq.layout import Layout, StoreFile
from kidx.rocketmq.messages import Message, recovers
from kidx.rocketmq.queues import ConsumeQueue
from kidx.rocketmq.replayed_queues import ReplayedQueue, replay

Queue = ConsumeQueue | BatchConsumeQueue
_MOST_RECOVERED_FILES = 10  # MessageStoreConfig.commitLogRecoverMaxNum, 5.4.0 on


class DoesNotLoad(KidxError):
    """Raised where the real store would refuse to load, with its reason; a broker would answer nothing."""


class Store:
    """A loaded store. Its methods raise DoesNotLoad if a broker of that version would not start."""

    def __init__(
        self,
        layout: Layout,
        config: StoreConfig,
        *,
        version: str | None = None,
        algorithm: str | None = None,
        mtimes_ns: dict[str, int] | None = None,
    ) -> None:
        self.layout, self.config, self._mtimes_ns = layout, config, mtimes_ns or {}
        self.opened = OpenFiles()
        self.unclean = layout.abort is not None
        self.checkpoint = Checkpoint(self.opened, layout.checkpoint)
        self._queues: dict[tuple[str, int], Queue] = {}  # recovered from their own files
        self._last: Message | None = None  # the commit log's last message
        self._ready: dict[tuple[str, int], Queue | None] = {}  # and brought in line with the commit log
        self.version: BrokerVersion = version_of(version, algorithm, five=False)
        if version is None:
            self.version = version_of(None, algorithm, self._five_wrote())
        self.log = CommitLog(self.opened, self._load(layout.commit_log, config.commit_log_bytes), self._log_file_bytes)

    def close(self) -> None:
        """Close the files that are open."""
        self.opened.close()

    @property
    def five(self) -> bool:
        """Whether the broker asked is of the 5.x line."""
        return self.version.five

    def queue(self, topic: str, queue_id: int) -> Queue | None:
        """A queue of the loaded store, None for an unknown one. Returns the same object each time."""
        if (topic, queue_id) not in self._ready:
            self._ready[topic, queue_id] = self._load_queue(topic, queue_id)
        return self._ready[topic, queue_id]

    def _load_queue(self, topic: str, queue_id: int) -> Queue | None:
        loaded = self._loaded_queue(topic, queue_id)
        requests = [r for r in self.dispatched() if r.topic == topic and r.queue_id == queue_id and r.has_unit]
        if loaded is None and requests:
            loaded = self._recovered(topic, queue_id, [])
        if loaded is None:
            return None
        if not self.log.files:  # "The commitlog files are deleted, and delete the consume queue files"
            loaded.files = []
        elif self._log_end is not None:
            dispatches = self.version.dispatches_on_load
            early = not dispatches and self._reaches(self._log_end)
            for message in requests:
                loaded.put(message, message.tag_code(self.config.delay_levels_ms))
            if early or (dispatches and self._reaches_after_dispatch()):
                loaded.drop_from(self._log_end)
        loaded.correct_min_offset(self.log.first_offset)
        self._apply_mtimes(loaded)
        return loaded

    @cached_property
    def replayed(self) -> dict[tuple[str, int], ReplayedQueue]:
        """The queues of a store that keeps them in RocksDB, rebuilt from the commit log, which is read completely."""
        return replay(self.log) if self._log_end is not None else {}

    def names(self) -> list[tuple[str, int]]:
        """Every queue that has a directory, by topic and number."""
        return sorted(self.layout.queues.keys() | self.layout.batch_queues.keys())

    @property
    def end(self) -> int:
        """Where the commit log ends after recovery (max physical offset)."""
        return self.log.end_offset if self._log_end is not None or not self.log.files else 0

    @cached_property
    def _log_end(self) -> int | None:
        """Walk the last files as recovery does, and set the commit log's end."""
        end = None
        for end, message in self._recover_log():  # noqa: B007 - the last one counts
            self._last = message or self._last
        if end is not None:
            self.log.truncate(end)
        return end

    def _recover_log(self) -> Iterator[tuple[int, Message | None]]:
        """(offset after it, message) of all messages that recovery walks; None at the start of a file."""
        files = self.log.files
        for file in files[self._first_file_to_recover :]:
            position, found = 0, None
            yield file.base, None
            for position, found in walk(file):
                if not isinstance(found, Message) or not recovers(found, self.five):
                    break
                position += found.size
                yield file.base + position, found
            if found is None or not take_end_marker(found, file.size - position, self.five):
                return

    @cached_property
    def _dispatch_after(self) -> int | None:
        """The commit-log offset past which recovery dispatches messages again to queues and index, or None."""
        end = self._log_end
        if end is None:
            return None
        if self.unclean:
            return -(2**63)
        if not self.version.dispatches_on_load or self.layout.rocksdb or self._reaches(end):
            return None
        return max((queue.max_physical for queue in self._all_recovered()), default=-1)

    def dispatched(self) -> Iterator[Message]:
        """The messages that recovery dispatches to queues and index again, in order; read again each time."""
        after = self._dispatch_after
        if after is not None:
            for _, message in self._recover_log():
                if message is not None and message.physical_offset > after:
                    yield message

    @cached_property
    def _first_file_to_recover(self) -> int:
        files = self.log.files
        if not self.unclean and not self.version.dispatches_on_load:
            return max(0, len(files) - 3)
        limited = self.version.limits_recovery
        for back, index in enumerate(range(len(files) - 1, 0, -1), 1):
            if (limited and back >= _MOST_RECOVERED_FILES) or self._may_start_at(files[index]):
                return index
        return 0

    def _may_start_at(self, file: MappedFile) -> bool:
        """Whether recovery may begin with this file (isMappedFileMatchedRecover): its start was flushed."""
        version, crash_safe = self.version, self.config.crash_safe_index
        if not self.unclean and not version.limits_recovery:  # 5.3.2 and 5.3.3
            return self._reaches(file.base)
        first = next((found for _, found in walk(file)), None)
        if not isinstance(first, Message) or first.store_timestamp == 0:
            return False
        if version.limits_recovery and not recovers(first, True):
            return False
        if crash_safe and first.store_timestamp > self.checkpoint.index_timestamp:
            return False
        if not self.unclean:
            return self._reaches(first.physical_offset)
        if not version.recovers_from_queues:
            known = first.magic == MAGIC_V1 or version.knows_v2
            return known and first.store_timestamp <= self.checkpoint.least_timestamp
        if self.checkpoint.logics_offset <= 0:
            return first.store_timestamp <= self.checkpoint.logics_timestamp
        return first.physical_offset <= self.checkpoint.logics_offset

    def _reaches(self, offset: int) -> bool:
        """Whether any queue's units reach a commit-log offset. The likeliest queues are tried first."""
        return any(queue.max_physical >= offset for queue in self._all_recovered())

    def _reaches_after_dispatch(self) -> bool:
        last, again = self._last, self._dispatch_after
        if last is not None and again is not None and last.has_unit and last.physical_offset > again:
            return True
        return self._reaches(self._log_end or 0)

    def _all_recovered(self) -> Iterator[Queue]:
        likely = {(self._last.topic, self._last.queue_id)} & set(self.names()) if self._last else set()
        for topic, queue_id in [*self._queues, *likely, *self.names()]:
            if (queue := self._loaded_queue(topic, queue_id)) is not None:
                yield queue

    def _loaded_queue(self, topic: str, queue_id: int) -> Queue | None:
        if (topic, queue_id) not in self._queues:
            files = self.layout.batch_queues.get((topic, queue_id))
            if files is None:
                files = self.layout.queues.get((topic, queue_id))
            if files is None:
                return None
            self._recovered(topic, queue_id, files)
        return self._queues[topic, queue_id]

    def _recovered(self, topic: str, queue_id: int, files: list[StoreFile]) -> Queue:
        queue: Queue
        if (topic, queue_id) in self.layout.batch_queues:
            size = self._batch_file_bytes
            queue = BatchConsumeQueue(self.opened, topic, queue_id, self._load(files, size), size)
        else:
            size = self._queue_file_bytes
            queue = ConsumeQueue(self.opened, topic, queue_id, self._load(files, size), size, self.five)
        queue.recover()
        self._queues[topic, queue_id] = queue
        return queue

    def check_loads(self) -> None:
        """Raise DoesNotLoad if any queue's files would make the broker refuse the store."""
        for files in self.layout.queues.values():
            self._load(files, self._queue_file_bytes)
        for files in self.layout.batch_queues.values():
            self._load(files, self._batch_file_bytes)

    def _load(self, files: list[StoreFile], file_bytes: int | None) -> list[StoreFile]:
        if not files:
            return []
        kept, why = series_refusal(files, file_bytes or self._log_file_bytes, self.five)
        if why:
            raise DoesNotLoad(f"a broker of {self.version} does not load this store: {why}")
        return kept

    @cached_property
    def _log_file_bytes(self) -> int:
        return self.config.commit_log_bytes or common_size(f.size for f in self.layout.commit_log) or 1 << 30

    @cached_property
    def _queue_file_bytes(self) -> int:
        sizes = (f.size for files in self.layout.queues.values() for f in files)
        return self.config.queue_bytes or common_size(sizes) or 300_000 * UNIT.size

    @cached_property
    def _batch_file_bytes(self) -> int:
        sizes = (f.size for files in self.layout.batch_queues.values() for f in files)
        return self.config.batch_queue_bytes or common_size(sizes) or 300_000 * 46

    @cached_property
    def index_files(self) -> list[IndexFile]:
        """The index of the loaded store: after an unclean stop, files past the checkpoint are filled again."""
        kept = []
        for file in self.layout.index:
            if file.name.isascii() and file.name.isdigit():
                slots, entries = self.index_shape(file)
                index = IndexFile(self.opened, file.path, slots, entries)
                if not self.unclean or index.end_timestamp <= self.checkpoint.index_timestamp:
                    kept.append(index)
        for message in self.dispatched():
            self._index(kept, message)
        return kept

    def _index(self, files: list[IndexFile], message: Message) -> None:
        if not files or files[-1].count >= files[-1].entries:
            files.append(self._next_index(files))
        if message.physical_offset < files[-1].end_offset:
            return
        for key in message.index_keys(self.version.indexes_tags):
            if not files[-1].put(key, message.physical_offset, message.store_timestamp):
                files.append(self._next_index(files))
                files[-1].put(key, message.physical_offset, message.store_timestamp)

    def _next_index(self, files: list[IndexFile]) -> IndexFile:
        slots, entries = self.index_shape(self.layout.index[0]) if self.layout.index else self._default_shape()
        made = IndexFile(self.opened, None, slots, entries)
        if files:
            made.begin_offset = made.end_offset = files[-1].end_offset
            made.begin_timestamp = made.end_timestamp = files[-1].end_timestamp
        return made

    def _default_shape(self) -> tuple[int, int]:
        return self.config.index_slots or DEFAULT_SLOTS, self.config.index_entries or DEFAULT_ENTRIES

    def index_shape(self, file: StoreFile) -> tuple[int, int]:
        """(slots, entries) of an index file: configured or inferred. Raises DoesNotLoad if neither is possible."""
        if self.config.index_slots and self.config.index_entries:
            return self.config.index_slots, self.config.index_entries
        shape = infer_shape(self.opened, file.path)
        if shape is None:
            raise DoesNotLoad(
                f"{file.path}: how many slots and entries it has is recorded nowhere and cannot be inferred from its"
                " content; give --config FILE with maxHashSlotNum and maxIndexNum"
            )
        return shape

    def _five_wrote(self) -> bool:
        """Which line wrote the store last: by files that only 5.x writes, else by how a message's properties end."""
        abort = self.layout.abort
        ends = None
        for file in reversed(self.layout.commit_log):
            mapped = MappedFile(self.opened, file.path, 0, file.size, file.size)
            for _, found in walk(mapped):
                if isinstance(found, Message) and found.properties:
                    ends = found.ends_properties
                    break
            if ends is not None:
                break
        return written_by_five(self.layout, ends, abort_has_pid=abort is not None and abort.size > 0)

    def _apply_mtimes(self, queue: Queue) -> None:
        import os
        import time

        for file in queue.files:
            if file.path is None or file.patches:
                file.mtime_ms = int(time.time() * 1000)  # a recovery writes it now
            else:
                ns = self._mtimes_ns.get(os.path.relpath(file.path, self.layout.root).replace(os.sep, "/"))
                file.mtime_ms = (self.opened.get(file.path).mtime_ns if ns is None else ns) // 1_000_000
