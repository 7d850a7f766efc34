"""A series of files as the broker maps it (MappedFileQueue), read-only: its writes are kept in memory as patches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from weakref import finalize

from kidx.errors import TooLarge
from kidx.evidence import Evidence, open_evidence
from kidx.rocketmq.layout import StoreFile

LIMIT_BYTES = 2**31 - 1  # DefaultMappedFile: the size of a file is an int
_OPEN_AT_ONCE = 32
_UNITS_AT_ONCE = 1 << 15
_CHUNK_BYTES = 1 << 20


def open_store_file(path: str) -> Evidence:
    """A store's file, opened for reading. Raises CannotRead, TooLarge for one that no broker could map."""
    evidence = open_evidence(path)
    if evidence.size > LIMIT_BYTES:
        evidence.close()
        raise TooLarge(f"{path}: {evidence.size:,} bytes; a file of a store has at most {LIMIT_BYTES:,}")
    return evidence


class OpenFiles:
    """A cache of the most recently used descriptors; closed with its last user at the latest."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Evidence] = OrderedDict()
        finalize(self, _close_all, self._open)

    def get(self, path: str) -> Evidence:
        """The file, opened for reading on first use. Raises CannotRead."""
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        evidence = self._open[path] = open_store_file(path)
        if len(self._open) > _OPEN_AT_ONCE:
            self._open.popitem(last=False)[1].close()
        return evidence

    def close(self) -> None:
        """Close them all."""
        _close_all(self._open)


def _close_all(opened: OrderedDict[str, Evidence]) -> None:
    while opened:
        opened.popitem()[1].close()


class MappedFile:
    """One file. `wrote` is the broker's write position: reads stop there, although the file continues.

    `patches` has the bytes that recovery would write, by position; `path` is None for a file that it would create.
    """

    __slots__ = ("_open", "base", "first_made", "mtime_ms", "patches", "path", "size", "wrote")

    def __init__(self, opened: OpenFiles, path: str | None, base: int, size: int, wrote: int) -> None:
        self._open, self.path, self.base, self.size, self.wrote = opened, path, base, size, wrote
        self.patches: dict[int, bytes] = {}
        self.first_made = False
        self.mtime_ms: int | None = None

    def read(self, position: int, length: int) -> bytes:
        """Bytes of the whole file, written or not, with the patches applied."""
        length = max(0, min(length, self.size - position))
        data = self._open.get(self.path).read(position, length) if self.path else b""
        data += bytes(length - len(data))
        if self.patches:
            changed = bytearray(data)
            for at, patch in self.patches.items():
                if position < at + len(patch) and at < position + length:
                    begin, end = max(at, position), min(at + len(patch), position + length)
                    changed[begin - position : end - position] = patch[begin - at : end - at]
            data = bytes(changed)
        return data

    def leading(self, width: int, valid_in: Callable[[bytes], int], first: int = 0) -> int:
        """How many valid units there are from unit `first` on; `valid_in` counts those that bytes begin with."""
        count = 0
        for start in range(first * width, self.size, width * _UNITS_AT_ONCE):
            chunk = self.read(start, width * _UNITS_AT_ONCE)
            valid = valid_in(chunk)
            count += valid
            if valid < len(chunk) // width:
                break
        return count

    def zeros_from(self, position: int) -> bool:
        """Whether nothing but zeros follows."""
        return not any(any(self.read(at, _CHUNK_BYTES)) for at in range(position, self.size, _CHUNK_BYTES))

    def append(self, data: bytes) -> None:
        """Write at the write position, in memory."""
        self.patches[self.wrote] = data
        self.wrote += len(data)


class MappedFiles:
    """A series of equally long files in order."""

    def __init__(self, opened: OpenFiles, files: list[StoreFile], file_size: int) -> None:
        self._open, self.file_size = opened, file_size
        self.files = [MappedFile(opened, f.path, f.base or 0, file_size, file_size) for f in files]

    @property
    def first_offset(self) -> int:
        """Where the first file starts, -1 without files."""
        return self.files[0].base if self.files else -1

    @property
    def end_offset(self) -> int:
        """The last file's write position, as an offset; 0 without files."""
        return self.files[-1].base + self.files[-1].wrote if self.files else 0

    def find(self, offset: int, first_if_missing: bool = False) -> MappedFile | None:
        """The file that holds an offset (MappedFileQueue.findMappedFileByOffset)."""
        if not self.files:
            return None
        first, last = self.files[0], self.files[-1]
        if first.base <= offset < last.base + self.file_size:
            index = offset // self.file_size - first.base // self.file_size
            if index < len(self.files) and self._holds(self.files[index], offset):
                return self.files[index]
            for file in self.files:
                if self._holds(file, offset):
                    return file
        return first if first_if_missing else None

    def _holds(self, file: MappedFile, offset: int) -> bool:
        return file.base <= offset < file.base + self.file_size

    def truncate(self, offset: int) -> None:
        """Drop everything past an offset (truncateDirtyFiles): write positions and complete files."""
        kept = []
        for file in self.files:
            if file.base + self.file_size > offset:
                if offset < file.base:
                    continue
                file.wrote = offset % self.file_size
            kept.append(file)
        self.files = kept

    def recover_units(self, unit_bytes: int, valid_in: Callable[[bytes], int]) -> tuple[MappedFile, int] | None:
        """Drop everything from the first invalid unit on, as recovery does: it reads from the third-last file on.

        Returns the file of the last valid unit that was read, and the byte after the unit; None without one.
        """
        last, end = None, None
        for file in self.files[-3:]:
            used = file.leading(unit_bytes, valid_in) * unit_bytes
            last, end = (file, used) if used else last, file.base + used
            if used < self.file_size // unit_bytes * unit_bytes:
                break
        if end is not None:
            self.truncate(end)
        return last

    def last_or_new(self, start: int) -> MappedFile:
        """The file that the next append goes to (getLastMappedFile); a new one in memory if none has room."""
        last = self.files[-1] if self.files else None
        if last is not None and last.wrote < last.size:
            return last
        base = last.base + self.file_size if last else start - start % self.file_size
        made = MappedFile(self._open, None, base, self.file_size, 0)
        made.first_made = last is None
        self.files.append(made)
        return made


def series_refusal(files: list[StoreFile], file_size: int, five: bool) -> tuple[list[StoreFile], str | None]:
    """The files a broker loads, and why it refuses to load, if it does (MappedFileQueue.doLoad).

    A last file of 0 bytes is deleted by 5.x and refused by 4.x; any other length than the configured one is refused.
    """
    kept: list[StoreFile] = []
    for number, file in enumerate(files):
        if five and file.size == 0 and number == len(files) - 1:
            continue
        if file.size != file_size:
            return kept, f"{file.path} has {file.size} bytes and the broker's files have {file_size}"
        if file.base is None:
            return kept, f"{file.path}: its name is no offset"
        kept.append(file)
    return kept, None
