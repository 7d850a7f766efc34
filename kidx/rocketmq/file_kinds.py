"""The kind of a store's file by its path, and all such files below a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kidx.errors import KidxError, UsageError
from kidx.evidence import is_directory, list_directory
from kidx.rocketmq.layout import base_of, is_rocksdb

QUEUE, BATCH_QUEUE, EXT = "queue", "batch_queue", "ext"
MESSAGES, INDEX, INDEX_HEADER, CHECKPOINT, ABORT = "messages", "index", "index_header", "checkpoint", "abort"
KINDS = (QUEUE, BATCH_QUEUE, EXT, MESSAGES, INDEX, INDEX_HEADER, CHECKPOINT, ABORT)
_BY_DIRECTORY = {"consumequeue": QUEUE, "batchconsumequeue": BATCH_QUEUE, "consumequeue_ext": EXT}


class RocksDbQueues(KidxError):
    """Raised for a consumequeue directory that is a RocksDB database, which kidx does not read."""


def kind_of(path: str) -> str | None:
    """A file's kind by its name and the directories above it; None if it is not part of a store."""
    name, parents = os.path.basename(path), os.path.abspath(path).split(os.sep)[:-1]
    if name in (CHECKPOINT, ABORT):
        return name
    if base_of(name) is None:
        return None
    if len(parents) >= 3 and parents[-3] in _BY_DIRECTORY:
        return _BY_DIRECTORY[parents[-3]]
    if parents and parents[-1] == "index":
        return INDEX
    return MESSAGES if len(name) == 20 and parents and parents[-1].startswith("commitlog") else None


def files_of(path: str, kind: str | None) -> Iterator[tuple[str, str] | KidxError]:
    """(file, kind) of a file, or of every file of a store below a directory; an error for each refused one.

    Raises UsageError for a single file whose kind neither its name nor the caller gives.
    """
    if not is_directory(path):
        known = kind or kind_of(path)
        if known is None:
            raise UsageError(
                f"{path}: its name and place do not show what kind of file it is; give --kind {'|'.join(KINDS)}"
            )
        yield path, known
        return
    if is_rocksdb(path):
        if os.path.basename(os.path.abspath(path)) == "consumequeue":
            yield RocksDbQueues(
                f"{path}: a RocksDB database (storeType=defaultRocksDB, 5.2 on): the queues are in it, in a format that"
                " kidx does not read; the commit log next to it holds the same messages"
            )
        return
    for entry in list_directory(path):
        if entry.is_dir(follow_symlinks=False):
            yield from files_of(entry.path, kind)
        elif (found := kind_of(entry.path)) is not None:
            if kind is None or kind == found:
                yield entry.path, found
            elif (kind, found) == (INDEX_HEADER, INDEX):
                yield entry.path, kind
