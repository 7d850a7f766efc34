"""Units of consumequeue_ext, to which a tag code can be an address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import EXT_HEAD, ext_offset
from kidx.rocketmq.layout import StoreFile

EXT_LIMIT_BYTES = 64 << 20  # MessageStoreConfig.mappedFileSizeConsumeQueueExt is 48 MiB
_LARGEST_UNIT_BYTES = 2**15 + EXT_HEAD.size  # the bitmap's length is an i16
END_MARK = -1  # ConsumeQueueExt: an i16 that says the rest of the file is filler


class ExtUnit(NamedTuple):
    """A unit at `position` of its file; `bitmap` is the filter's, empty without one."""

    position: int
    size: int
    tag_code: int
    store_timestamp: int
    bitmap: bytes


def read_ext_unit(data: bytes, position: int) -> ExtUnit | None:
    """The unit at a position, None without one: a size below 20, a bitmap past the end (CqExtUnit.read)."""
    if position + EXT_HEAD.size > len(data):
        return None
    size, tag_code, timestamp, bitmap_bytes = EXT_HEAD.struct.unpack_from(data, position)
    start = position + EXT_HEAD.size
    if size < EXT_HEAD.size or bitmap_bytes < 0 or start + bitmap_bytes > len(data):
        return None
    return ExtUnit(position, size, tag_code, timestamp, data[start : start + bitmap_bytes])


def ext_units(data: bytes) -> Iterator[ExtUnit]:
    """The units of a file from its start to the end mark, or to the first invalid one."""
    position = 0
    while (unit := read_ext_unit(data, position)) is not None:
        yield unit
        position += unit.size


def filler_start(data: bytes) -> int | None:
    """The position of the end mark, None if units or zeros reach the end."""
    end = 0
    for unit in ext_units(data):
        end = unit.position + unit.size
    mark = data[end : end + 2]
    return end if len(mark) == 2 and int.from_bytes(mark, signed=True) == END_MARK else None


class ExtFiles:
    """The ext files of all queues, by topic and queue id."""

    def __init__(self, opened: OpenFiles, files: dict[tuple[str, int], list[StoreFile]]) -> None:
        self._opened, self._files = opened, files

    def unit(self, topic: str, queue_id: int, address: int) -> ExtUnit | None:
        """The ext unit that an address leads to, None where there is none."""
        offset = ext_offset(address)
        for file in self._files.get((topic, queue_id), []):
            if file.base is not None and file.base <= offset < file.base + file.size:
                position = offset - file.base
                unit = read_ext_unit(self._opened.get(file.path).read(position, _LARGEST_UNIT_BYTES), 0)
                return None if unit is None else unit._replace(position=position)
        return None
