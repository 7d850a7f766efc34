"""Evidence on object stores and in HDFS, through pyarrow.fs: s3://, gs://, abfs://, hdfs://; needs kidx[spark].

Imported when a path is a URI. S3 takes its endpoint, region and credentials from the usual AWS_...
variables. HDFS needs libhdfs and a Hadoop CLASSPATH, as pyarrow documents; it is not tested here.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from kidx.errors import CannotRead, MissingExtra, UsageError
from kidx.evidence.file import Evidence
from kidx.evidence.listing import Entry

_BLOCK_BYTES = 4 << 20  # a request costs a round trip, so short reads are served from whole blocks
_BLOCKS_KEPT = 4


class RemoteEvidence(Evidence):
    """A remote file that is read by ranges. A store may replace it meanwhile: see changed()."""

    __slots__ = ("_blocks", "_file")

    def __init__(self, path: str, file: Any, size: int, mtime_ns: int) -> None:
        self._file = file
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        super().__init__(path, -1, size, mtime_ns)

    def close(self) -> None:
        """Close the connection; harmless when closed already."""
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

    def __init__(self, directory: str, info: Any) -> None:
        self.name: str = info.base_name
        self.path = f"{directory.rstrip('/')}/{self.name}"
        self._is_dir: bool = info.type.name == "Directory"
        self._stat = SimpleNamespace(st_size=info.size or 0, st_mtime_ns=_mtime_ns(info))

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


def open_remote(uri: str) -> RemoteEvidence:
    """Open a remote file. Raises CannotRead, UsageError for an unknown scheme, MissingExtra without pyarrow."""
    fs, inside = locate(uri)
    try:
        info = fs.get_file_info(inside)
        if info.type.name != "File":
            kind = "a directory, and a file is wanted" if info.type.name == "Directory" else "no such file or directory"
            raise CannotRead(f"{uri}: {kind}")
        return RemoteEvidence(uri, fs.open_input_file(inside), info.size, _mtime_ns(info))
    except OSError as e:
        raise _cannot_read(uri, e) from None


def list_remote(uri: str) -> list[RemoteEntry]:
    """A remote directory's entries by name. Raises CannotRead."""
    from pyarrow.fs import FileSelector

    fs, inside = locate(uri)
    try:
        found = fs.get_file_info(FileSelector(inside))
    except OSError as e:
        raise _cannot_read(uri, e) from None
    return [RemoteEntry(uri, info) for info in sorted(found, key=lambda info: str(info.base_name))]


def remote_status(uri: str) -> tuple[str, int, int] | None:
    """("file" or "directory", bytes, mtime_ns), or None where there is nothing. Raises CannotRead."""
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
