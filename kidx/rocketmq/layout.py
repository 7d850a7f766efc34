"""What lies where in a store root. Names and sizes only: no file is opened here."""

from __future__ import annotations

import os
from typing import NamedTuple

from kidx.errors import CannotRead
from kidx.evidence import Entry, list_directory

NAME_DIGITS = 20


class StoreFile(NamedTuple):
    """A file of a series. `base` is the offset that its name says, None where the name is no number."""

    path: str
    name: str
    base: int | None
    size: int


class Layout:
    """A store root's files, each series by name. `rocksdb`: consumequeue is a RocksDB directory (5.2 on)."""

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
        self.rocksdb = False


def read_layout(root: str, commit_log_dirs: tuple[str, ...] = ()) -> Layout:
    """Find a store's files. `commit_log_dirs` replaces root/commitlog where the log is split over several disks.

    Raises CannotRead where `root` is no store: neither commitlog nor consumequeue in it.
    """
    entries = {entry.name: entry for entry in list_directory(root)}
    if not commit_log_dirs and not entries.keys() & {"commitlog", "consumequeue", "batchconsumequeue"}:
        nested = os.path.join(root, "store")
        hint = f"; did you mean {nested}?" if "store" in entries else ""
        raise CannotRead(f"{root}: no RocketMQ store: neither commitlog nor consumequeue is in it{hint}")
    layout = Layout(root)
    for directory in commit_log_dirs or (os.path.join(root, "commitlog"),):
        if commit_log_dirs or "commitlog" in entries:
            layout.commit_log += series(directory)
    layout.commit_log.sort(key=lambda file: file.name)
    layout.rocksdb = is_rocksdb(os.path.join(root, "consumequeue"))
    if not layout.rocksdb:
        layout.queues = _queues(root, "consumequeue", entries.keys())
    layout.batch_queues = _queues(root, "batchconsumequeue", entries.keys())
    layout.ext = _queues(root, "consumequeue_ext", entries.keys())
    layout.index = series(os.path.join(root, "index")) if "index" in entries else []
    layout.checkpoint = _single(root, "checkpoint", entries)
    layout.abort = _single(root, "abort", entries)
    layout.abort_backup = "abort.bak" in entries
    return layout


def series(directory: str) -> list[StoreFile]:
    """A directory's files by name, as the broker sorts them."""
    found = []
    for entry in list_directory(directory):
        try:
            if entry.is_file():
                found.append(StoreFile(entry.path, entry.name, base_of(entry.name), entry.stat().st_size))
        except OSError as e:
            raise CannotRead(f"{entry.path}: {(e.strerror or str(e)).lower()}") from None
    return found


def base_of(name: str) -> int | None:
    """The offset a file's name says: what Java's Long.parseLong makes of it, in plain digits."""
    return int(name) if name.isascii() and name.isdigit() and int(name) < 1 << 63 else None


def is_rocksdb(directory: str) -> bool:
    """Whether a directory is a RocksDB database: CURRENT, and a MANIFEST beside it."""
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
    try:
        return StoreFile(os.path.join(root, name), name, None, entries[name].stat().st_size)
    except OSError as e:
        raise CannotRead(f"{os.path.join(root, name)}: {(e.strerror or str(e)).lower()}") from None
