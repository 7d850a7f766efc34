"""The files of a store by name and size; none is opened here."""

from __future__ import annotations

import os
from typing import NamedTuple

from kidx.errors import CannotRead
from kidx.evidence import Entry, is_directory, list_directory


class StoreFile(NamedTuple):
    """A file of a series. `base` is the offset in its name, None if the name is not a number."""

    path: str
    name: str
    base: int | None
    size: int


class Unread(NamedTuple):
    """A part of a store that kidx does not read: what it is, and its bytes."""

    why: str
    bytes: int


_NOT_READ = {
    "compaction": "logs of compaction topics (5.1 on), from which a broker serves these topics, are not read",
    "rocksdbstore": "a RocksDB database of timers, transactions and index (5.4 on) is not read",
    "timerlog": "messages of the timer wheel (5.0 on) are not read",
    "timerwheel": "the timer wheel (5.0 on) is not read",
}
_READ = {"commitlog", "consumequeue", "batchconsumequeue", "consumequeue_ext", "index", "checkpoint", "abort"}
_WITHOUT_DATA = {"lock", "abort.bak", "config", "checkpoint.bak"}


class Layout:
    """A store root's files, each series by name.

    `rocksdb`: the queues are in RocksDB (5.2 on), in consumequeue. `rocksdb_copy`: RocksDB has a copy of the queues,
    next to their files (double write, 5.3.2 on). `unread` is what else is in the root, by name.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.commit_log: list[StoreFile] = []
        self.queues: dict[tuple[str, int], list[StoreFile]] = {}
        self.batch_queues: dict[tuple[str, int], list[StoreFile]] = {}
        self.ext: dict[tuple[str, int], list[StoreFile]] = {}
        self.index: list[StoreFile] = []
        self.checkpoint: StoreFile | None = None
        self.abort: StoreFile | None = None
        self.abort_backup = False
        self.rocksdb = self.rocksdb_copy = False
        self.compaction_topics: frozenset[str] = frozenset()
        self.unread: dict[str, Unread] = {}


def read_layout(root: str, commit_log_dirs: tuple[str, ...] = ()) -> Layout:
    """Find a store's files. `commit_log_dirs` replaces root/commitlog where the log is split over several disks.

    Raises CannotRead if `root` is not a store: neither commitlog nor consumequeue is in it.
    """
    entries = {entry.name: entry for entry in list_directory(root)}
    for name in sorted(entries):
        if name.startswith("dledger-") and entries[name].is_dir():
            raise refuse_dledger(f"{root}: {name}/data holds the commit log")
    if not commit_log_dirs and not entries.keys() & {"commitlog", "consumequeue", "batchconsumequeue"}:
        nested = os.path.join(root, "store")
        hint = f"; did you mean {nested}?" if "store" in entries else ""
        raise CannotRead(f"{root}: no RocketMQ store: neither commitlog nor consumequeue is in it{hint}")
    layout = Layout(root)
    for directory in commit_log_dirs or (os.path.join(root, "commitlog"),):
        if commit_log_dirs or "commitlog" in entries:
            layout.commit_log += series(directory)
    layout.commit_log.sort(key=lambda file: file.name)
    layout.queues = _queues(root, "consumequeue", entries.keys())
    in_rocksdb = is_rocksdb(os.path.join(root, "consumequeue"))
    layout.rocksdb, layout.rocksdb_copy = in_rocksdb and not layout.queues, in_rocksdb and bool(layout.queues)
    layout.batch_queues = _queues(root, "batchconsumequeue", entries.keys())
    layout.ext = _queues(root, "consumequeue_ext", entries.keys())
    layout.index = series(os.path.join(root, "index")) if "index" in entries else []
    layout.checkpoint = _single(root, "checkpoint", entries)
    layout.abort = _single(root, "abort", entries)
    layout.abort_backup = "abort.bak" in entries
    layout.compaction_topics = _compaction_topics(root, entries.keys())
    for name, entry in entries.items():
        if name not in _READ | _WITHOUT_DATA and (name != "compaction" or layout.compaction_topics):
            why = _NOT_READ.get(name, "not a part of a store that kidx knows")
            layout.unread[name] = Unread(why, _bytes_of(entry))
    if layout.rocksdb or layout.rocksdb_copy:
        why = "the queues are in RocksDB (5.2 on), which kidx does not read"
        if layout.rocksdb_copy:
            why = "a copy of the queues in RocksDB (double write) is not read, the queues' files are"
        inside = [entry for entry in list_directory(os.path.join(root, "consumequeue")) if entry.is_file()]
        layout.unread["consumequeue"] = Unread(why, sum(map(_bytes_of, inside)))
    return layout


def refuse_dledger(where: str) -> CannotRead:
    """The refusal of a store whose commit log is DLedger's."""
    return CannotRead(
        f"{where} in DLedger's entries (enableDLegerCommitLog), which kidx does not read; use DLedger's own tools"
    )


def _compaction_topics(root: str, present: object) -> frozenset[str]:
    """Topics that have a compacted log. Source: org.apache.rocketmq.store.kv.CompactionLog."""
    logs = os.path.join(root, "compaction", "compactionLog")
    if "compaction" not in present or not is_directory(logs):  # type: ignore[operator]
        return frozenset()
    return frozenset(entry.name for entry in list_directory(logs) if entry.is_dir())


def _bytes_of(entry: Entry) -> int:
    """Bytes of a file, or of all files below a directory that can be listed; links are not followed."""
    total, left = 0, [entry]
    while left:
        one = left.pop()
        try:
            if one.is_dir(follow_symlinks=False):
                left += list_directory(one.path)
            else:
                total += one.stat(follow_symlinks=False).st_size
        except CannotRead:
            continue
    return total


def series(directory: str) -> list[StoreFile]:
    """A directory's files by name, as the broker sorts them."""
    return [
        StoreFile(entry.path, entry.name, base_of(entry.name), entry.stat().st_size)
        for entry in list_directory(directory)
        if entry.is_file()
    ]


def base_of(name: str) -> int | None:
    """The offset in a file's name, as Java's Long.parseLong reads it, in plain digits."""
    return int(name) if name.isascii() and name.isdigit() and int(name) < 1 << 63 else None


def is_rocksdb(directory: str) -> bool:
    """Whether a directory is a RocksDB database: it has CURRENT and a MANIFEST."""
    try:
        names = {entry.name for entry in list_directory(directory)}
    except CannotRead:
        return False
    return "CURRENT" in names and any(name.startswith("MANIFEST-") for name in names)


def _queues(root: str, kind: str, present: object) -> dict[tuple[str, int], list[StoreFile]]:
    if kind not in present:  # type: ignore[operator]
        return {}
    found: dict[tuple[str, int], list[StoreFile]] = {}
    for topic in list_directory(os.path.join(root, kind)):
        if not topic.is_dir():
            continue
        for queue in list_directory(topic.path):
            if queue.is_dir() and queue.name.isascii() and queue.name.isdigit() and int(queue.name) < 1 << 31:
                found[topic.name, int(queue.name)] = series(queue.path)
    return found


def _single(root: str, name: str, entries: dict[str, Entry]) -> StoreFile | None:
    if name not in entries:
        return None
    return StoreFile(os.path.join(root, name), name, None, entries[name].stat().st_size)
