"""consumequeue_ext while units are checked: an address's unit, each file read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import ext_offset
from kidx.rocketmq.layout import StoreFile

if TYPE_CHECKING:
    from kidx.rocketmq.ext_units import ExtUnit


class ExtFiles:
    """The ext files of all queues; one file's bytes are kept at a time."""

    def __init__(self, opened: OpenFiles, files: dict[tuple[str, int], list[StoreFile]]) -> None:
        self._opened, self._files = opened, files
        self._path, self._data = "", b""

    def unit(self, topic: str, queue_id: int, address: int) -> ExtUnit | None:
        """The ext unit that an address leads to, None where there is none."""
        from kidx.rocketmq.ext_units import read_ext_unit

        offset = ext_offset(address)
        for file in self._files.get((topic, queue_id), []):
            if file.base is not None and file.base <= offset < file.base + file.size:
                if file.path != self._path:
                    self._path, self._data = file.path, self._opened.get(file.path).read_all()
                return read_ext_unit(self._data, offset - file.base)
        return None
