"""Evidence on object stores and in HDFS, through pyarrow.fs: s3://, gs://, abfs://, hdfs://; needs kidx[spark].

Imported when a path is a URI. S3 takes its endpoint, region and credentials from the usual AWS_...
variables. HDFS needs libhdfs and a Hadoop CLASSPATH, as pyarrow documents; it is not tested here.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from kidx.errors import CannotRead, MissingExtra, UsageError
from kidx.evidence.entry import Entry
from kidx.evidence.file import Evidence

_BLOCK_BYTES = 4 << 20  # a request costs a round trip, so short reads are served from whole blocks
_BLOCKS_KEPT = 4
_SMALL_BYTES, _MOST_OPENED = 64 << 10, 4096  # of known_listings: files kept in memory, and files kept open


class RemoteEvidence(Evidence):
    """A remote file that is read by ranges. A store may replace it meanwhile: see changed().

    `blocks` are those read so far, by position; who gives them keeps the file open for the next reader.
    """

    __slots__ = ("_blocks", "_file", "_shared")

    def __init__(
        self, path: str, file: Any, size: int, mtime_ns: int, blocks: OrderedDict[int, bytes] | None = None
    ) -> None:
        self._file, self._shared = file, blocks is not None
        self._blocks: OrderedDict[int, bytes] = OrderedDict() if blocks is None else blocks
        super().__init__(path, -1, size, mtime_ns)

    def close(self) -> None:
        """Close the connection; harmless when closed already."""
        if self._shared:
            if self.size > _SMALL_BYTES:
                self._blocks.clear()
            return
        if not self._file.closed:
            self._file.close()
        self._blocks.clear()

    def read(self, position: int, length: int) -> bytes:
        """`length` bytes from `position`, fewer only where `size` ends them. Raises ChangedWhileRead, CannotRead."""
        length = max(0, min(length, self.size - position))
        if not length:
            return b""
        if length >= _BLOCK_BYTES:
            return self._fetch(position, length)
        start = position - position % _BLOCK_BYTES
        data = self._block(start)
        piece = data[position - start : position - start + length]
        if len(piece) < length:
            piece += self._block(start + _BLOCK_BYTES)[: length - len(piece)]
        return piece

    def read_range(self, position: int, length: int) -> bytes:
        """As `read`, in one request for these bytes alone."""
        length = max(0, min(length, self.size - position))
        return self._fetch(position, length) if length else b""

    def read_into(self, position: int, buffer: memoryview) -> int:
        """Fill `buffer` from `position`; how many bytes came, fewer only at the end."""
        data = self.read(position, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def changed(self) -> bool:
        """Whether the store now holds another version of it. Raises CannotRead."""
        if self._shared and self.size <= _BLOCK_BYTES and self._file.size() == self.size:
            return False  # one request reads it, and one version of it
        fs, inside = locate(self.path)
        try:
            info = fs.get_file_info(inside)
        except OSError as e:
            raise _cannot_read(self.path, e) from None
        return bool(info.size != self.size or _mtime_ns(info) != self.mtime_ns)

    def _block(self, start: int) -> bytes:
        block = self._blocks.get(start)
        if block is None:
            block = self._blocks[start] = self._fetch(start, min(_BLOCK_BYTES, self.size - start))
            if len(self._blocks) > _BLOCKS_KEPT:
                self._blocks.popitem(last=False)
        else:
            self._blocks.move_to_end(start)
        return block

    def _fetch(self, position: int, length: int) -> bytes:
        try:
            data: bytes = self._file.read_at(length, position)
        except OSError as e:
            raise _cannot_read(self.path, e) from None
        if len(data) < length:
            raise self._shrank(position + len(data))
        return data


class RemoteEntry(Entry):
    """One name in a remote directory; its type, size and time come from the listing."""

    __slots__ = ("_is_dir", "_stat")

    def __init__(self, directory: str, name: str, size: int, mtime_ns: int, *, is_dir: bool) -> None:
        self.name, self.path = name, f"{directory.rstrip('/')}/{name}"
        self._is_dir = is_dir
        self._stat = SimpleNamespace(st_size=size, st_mtime_ns=mtime_ns)

    @classmethod
    def of(cls, directory: str, info: Any) -> RemoteEntry:
        """The entry of a FileInfo."""
        is_dir = info.type.name == "Directory"
        return cls(directory, info.base_name, info.size or 0, _mtime_ns(info), is_dir=is_dir)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a directory, or a prefix that stands for one."""
        return self._is_dir

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file, or an object."""
        return not self._is_dir

    def is_symlink(self) -> bool:
        """Never: stores have none."""
        return False

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        """`st_size` in bytes and `st_mtime_ns`, from the listing."""
        return self._stat


class _Known:
    """Directories whose listing is known, by URI, and the files that were opened in them: handle and blocks."""

    def __init__(self) -> None:
        self.listings: dict[str, dict[str, RemoteEntry]] = {}
        self.opened: dict[str, tuple[Any, OrderedDict[int, bytes]]] = {}

    def close(self) -> None:
        """Close the files."""
        for file, _ in self.opened.values():
            file.close()


_known: list[_Known] = []  # the contexts of known_listings, innermost last


@contextmanager
def known_listings(listings: Mapping[str, Iterable[RemoteEntry]]) -> Iterator[None]:
    """Within the context, names, sizes and times in these directories are those of their listings, and a file is opened
    once: a store gets one request for each file that is opened, and one for each of its blocks.
    """
    known = _Known()
    known.listings = {uri: {entry.name: entry for entry in entries} for uri, entries in listings.items()}
    _known.append(known)
    try:
        yield
    finally:
        _known.pop()
        known.close()


def _listed(uri: str) -> tuple[_Known, dict[str, RemoteEntry]] | None:
    """The known listing of a directory."""
    return next(((known, known.listings[uri]) for known in reversed(_known) if uri in known.listings), None)


def open_remote(uri: str) -> RemoteEvidence:
    """Open a remote file. Raises CannotRead, UsageError for an unknown scheme, MissingExtra without pyarrow."""
    fs, inside = locate(uri)
    status = remote_status(uri)
    if status is None or status[0] != "file":
        raise CannotRead(f"{uri}: {'a directory, and a file is wanted' if status else 'no such file or directory'}")
    listed = _listed(uri.rpartition("/")[0])
    try:
        if listed is None or (uri not in listed[0].opened and len(listed[0].opened) >= _MOST_OPENED):
            return RemoteEvidence(uri, fs.open_input_file(inside), *status[1:])
        opened = listed[0].opened
        if uri not in opened:
            opened[uri] = fs.open_input_file(inside), OrderedDict()
        return RemoteEvidence(uri, opened[uri][0], status[1], status[2], opened[uri][1])
    except OSError as e:
        raise _cannot_read(uri, e) from None


def list_tree(uri: str) -> dict[str, list[RemoteEntry]]:
    """The entries of a remote directory and of all below it, by directory: a request per 1,000 names on S3.

    Raises CannotRead.
    """
    from pyarrow.fs import FileSelector

    fs, inside = locate(uri)
    try:
        found = fs.get_file_info(FileSelector(inside, recursive=True))
    except OSError as e:
        raise _cannot_read(uri, e) from None
    tree: dict[str, list[RemoteEntry]] = {uri: []}
    for info in sorted(found, key=lambda info: str(info.path)):
        directory = (uri + info.path[len(inside) :]).rpartition("/")[0]
        entry = RemoteEntry.of(directory, info)
        tree.setdefault(directory, []).append(entry)
        if entry.is_dir():
            tree.setdefault(entry.path, [])
    return tree


def list_remote(uri: str) -> list[RemoteEntry]:
    """A remote directory's entries by name. Raises CannotRead."""
    from pyarrow.fs import FileSelector

    if listed := _listed(uri):
        return list(listed[1].values())
    fs, inside = locate(uri)
    try:
        found = fs.get_file_info(FileSelector(inside))
    except OSError as e:
        raise _cannot_read(uri, e) from None
    return [RemoteEntry.of(uri, info) for info in sorted(found, key=lambda info: str(info.base_name))]


def remote_status(uri: str) -> tuple[str, int, int] | None:
    """("file" or "directory", bytes, mtime_ns), or None where there is nothing. Raises CannotRead."""
    if _listed(uri) is not None:
        return "directory", 0, 0
    if listed := _listed(uri.rpartition("/")[0]):
        entry = listed[1].get(uri.rpartition("/")[2])
        if entry is None:
            return None
        return ("directory" if entry.is_dir() else "file"), entry.stat().st_size, entry.stat().st_mtime_ns
    fs, inside = locate(uri)
    try:
        info = fs.get_file_info(inside)
    except OSError as e:
        raise _cannot_read(uri, e) from None
    kind = {"File": "file", "Directory": "directory"}.get(info.type.name)
    return (kind, info.size or 0, _mtime_ns(info)) if kind else None


def glob_remote(pattern: str) -> Iterator[str]:
    """The URIs that match a pattern with * ? [], part by part. Raises CannotRead."""
    scheme, _, rest = pattern.partition("://")
    first, *parts = rest.split("/")
    matches = [f"{scheme}://{first}"]
    for part in parts:
        if not re.search(r"[*?\[]", part):
            matches = [f"{m}/{part}" for m in matches]
            continue
        matches = [
            f"{m}/{entry.name}"
            for m in matches
            if (status := remote_status(m)) and status[0] == "directory"
            for entry in list_remote(m)
            if fnmatchcase(entry.name, part)
        ]
    yield from (m for m in matches if remote_status(m))


def locate(uri: str) -> tuple[Any, str]:
    """The file system of a URI and the path inside it."""
    scheme, _, rest = uri.partition("://")
    scheme = "s3" if scheme in ("s3a", "s3n") else scheme  # Hadoop's names of the same stores
    authority, slash, inside = rest.partition("/")
    fs, root = _file_system(f"{scheme}://{authority}")
    return fs, (root.rstrip("/") + slash + inside).rstrip("/") or "/"


@lru_cache(maxsize=64)
def _file_system(root: str) -> tuple[Any, str]:
    try:
        from pyarrow.fs import FileSystem
    except ImportError:
        raise MissingExtra(f"{root}: reading URIs needs pyarrow; pip install 'kidx[spark]'") from None
    import pyarrow as pa

    try:
        fs, inside = FileSystem.from_uri(root + "/" if root.startswith("hdfs") or root.endswith("//") else root)
    except pa.ArrowInvalid as e:
        raise UsageError(f"{root}: not a URI that can be read ({_first_line(e)})") from None
    except (OSError, pa.ArrowException) as e:
        raise _cannot_read(root, e) from None
    return fs, inside


def _mtime_ns(info: Any) -> int:
    return int(info.mtime_ns or 0)


def _first_line(e: BaseException) -> str:
    return (str(e).splitlines() or [type(e).__name__])[0]


def _cannot_read(uri: str, e: BaseException) -> CannotRead:
    if isinstance(e, FileNotFoundError):
        return CannotRead(f"{uri}: no such file or directory")
    code = re.search(r"AWS Error ([A-Z_]+)", str(e))
    reason = {
        "NO_SUCH_BUCKET": "there is no such bucket",
        "ACCESS_DENIED": "access denied; kidx needs s3:ListBucket and s3:GetObject",
        "NETWORK_CONNECTION": "the store does not answer; is AWS_ENDPOINT_URL or the region right?",
    }.get(code[1] if code else "")
    return CannotRead(f"{uri}: {reason or _first_line(e)}")
