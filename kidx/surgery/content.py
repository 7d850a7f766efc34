"""The content of a new file: ranges of files, bytes and zeros, never entirely in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from kidx.evidence import Evidence

Piece = tuple[Evidence, int, int] | bytes | int  # a range of a file, bytes, or so many zeros
_CHUNK_BYTES = 1 << 20


class Joined(Evidence):
    """Pieces one after another, read as one file."""

    __slots__ = ("_pieces",)

    def __init__(self, path: str, *pieces: Piece) -> None:
        super().__init__(path, -1, sum(map(_size, pieces)), 0)
        self._pieces = pieces

    def read(self, position: int, length: int) -> bytes:
        """See Evidence."""
        end = min(position + length, self.size)
        found, start = [], 0
        for piece in self._pieces:
            first, behind = max(position - start, 0), min(end - start, _size(piece))
            if first < behind:
                found.append(_read(piece, first, behind - first))
            start += _size(piece)
        return b"".join(found)

    def read_into(self, position: int, buffer: memoryview) -> int:
        """See Evidence."""
        data = self.read(position, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def data_ranges(self, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
        """See Evidence: zeros count as holes."""
        end = self.size if end is None else min(end, self.size)
        found, at = [], 0
        for piece in self._pieces:
            size = _size(piece)
            if isinstance(piece, tuple):
                evidence, first, behind = piece
                found += [(a - first + at, b - first + at) for a, b in evidence.data_ranges(first, behind)]
            elif isinstance(piece, bytes):
                found.append((at, at + size))
            at += size
        return [(max(a, start), min(b, end)) for a, b in found if max(a, start) < min(b, end)]


def _size(piece: Piece) -> int:
    if isinstance(piece, tuple):
        return piece[2] - piece[1]
    return piece if isinstance(piece, int) else len(piece)


def _read(piece: Piece, position: int, length: int) -> bytes:
    if isinstance(piece, tuple):
        return piece[0].read(piece[1] + position, length)
    return bytes(length) if isinstance(piece, int) else piece[position : position + length]


def sha256_of(content: Evidence) -> str:
    """The SHA-256 of a file's bytes, as hex. Raises CannotRead."""
    digest = hashlib.sha256()
    for chunk in content.chunks(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def same_bytes(one: Evidence | None, other: Evidence | None) -> bool:
    """Whether two files have the same bytes; None is no file. Raises CannotRead."""
    if one is None or other is None:
        return one is other
    return one.size == other.size and all(a == b for a, b in zip(one.chunks(), other.chunks(), strict=True))


def data_chunks(content: Evidence) -> Iterator[tuple[int, bytes]]:
    """Positions and bytes of a file's data, holes left out."""
    for start, end in content.data_ranges():
        for position in range(start, end, _CHUNK_BYTES):
            yield position, content.read(position, min(_CHUNK_BYTES, end - position))
