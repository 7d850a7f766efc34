"""A series of files by names and lengths, without opening them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kidx.rocketmq.layout import StoreFile


class Series(NamedTuple):
    """A queue's files or the commit log's, sorted by name; `file_bytes` is the length each should have, if known."""

    files: Sequence[StoreFile]
    file_bytes: int | None


class IndexNames(NamedTuple):
    """The files of the index directory; their names are times."""

    files: Sequence[StoreFile]
