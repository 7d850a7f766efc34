"""The output files of one partition in a directory, and the note about what is finished, by which a run is resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kidx.errors import KidxError, UsageError
from kidx.evidence import file_size
from kidx.export.coverage import Coverage
from kidx.export.reading import Asked
from kidx.export.rows import Form, RowMaker
from kidx.export.sources import Source
from kidx.export.writers import Encoder, NewFile, encoder, refusing
from kidx.text.json_text import json_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Ints = npt.NDArray[np.int64]

_TEXT_BYTES_A_ROW = 400  # of JSON besides keys, values and headers
_NOTES = ".kidx-export"


class PartitionFiles:
    """Files of one partition, one after another. `finished` are the manifest's entries of complete ones.

    The batches go through `encode`, in another thread, in the order of `take`.
    """

    def __init__(self, directory: str, source: Source, form: Form, maker: RowMaker, *, replace: bool = False) -> None:
        """`replace`: an earlier run may have completed files without noting them, which are written anew."""
        self._directory, self._name, self._form, self._maker = directory, source.name, form, maker
        self._replace = replace
        self._file: NewFile | None = None
        self._encoder: Encoder | None = None
        self._written = self._waiting = self._largest = self._rows = self._first = self._last = 0
        self.finished: list[dict[str, Any]] = []

    def parts(self, batch: pa.RecordBatch, offsets: Ints) -> Iterator[tuple[pa.RecordBatch, int, int]]:
        """A batch in parts that fit into a file, each with its first and last offset."""
        limit = self._form.file_bytes
        rows = len(batch) if limit is None else max(1, len(batch) * limit // (2 * self._size(batch) + 1))
        for start in range(0, len(batch), rows):
            part = batch.slice(start, rows)
            yield part, int(offsets[start]), int(offsets[start + len(part) - 1])

    def take(self, batch: pa.RecordBatch, first_offset: int, last_offset: int) -> pa.RecordBatch:
        """Count a batch to the open file, which is begun if there is none."""
        if self._file is None:
            self._begin(first_offset)
        size = self._size(batch)
        self._waiting += size
        self._largest = max(self._largest, size)
        self._rows += len(batch)
        self._last = last_offset
        return batch

    def _size(self, batch: pa.RecordBatch) -> int:
        """What a batch takes in a file, at most, or about."""
        return int(batch.nbytes) + len(batch) * (_TEXT_BYTES_A_ROW if self._form.is_text else 0)

    def _begin(self, first_offset: int) -> None:
        number = "" if self._form.file_bytes is None else f".{first_offset:020}"
        path = os.path.join(self._directory, f"{self._name}{number}.{self._form.format}")
        self._file = NewFile(path, replace=self._replace)
        with refusing(path):
            self._encoder = encoder(self._form.format, self._file.out, self._maker.schema, self._maker.json)
        self._written = self._waiting = self._rows = 0
        self._first = first_offset

    def encode(self, batch: pa.RecordBatch) -> None:
        """Write a batch."""
        assert self._encoder is not None and self._file is not None
        with refusing(self._file.path):
            self._encoder.write(batch)

    @property
    def nearly_full(self) -> bool:
        """Whether the next batch may be too much, as far as is known while batches wait to be written."""
        limit = self._form.file_bytes
        return limit is not None and self._written + self._waiting + self._largest > limit

    def finish_if_full(self) -> None:
        """Complete the open file if the next batch may be too much for it. No batch may be waiting."""
        assert self._file is not None and self._encoder is not None
        self._written, self._waiting = self._file.out.tell(), self._encoder.held_bytes
        if self.nearly_full:
            self._complete()

    def finish(self) -> list[dict[str, Any]]:
        """Complete the open file, if there is one. Returns the entries in `finished`, which is empty then."""
        if self._file is not None:
            self._complete()
        entries, self.finished = self.finished, []
        return entries

    def _complete(self) -> None:
        assert self._file is not None and self._encoder is not None
        with refusing(self._file.path):
            self._encoder.close()
        self._file.commit()
        self.finished.append(file_entry(self._file.path, self._rows, self._first, self._last))
        self._file = self._encoder = None

    def discard(self) -> None:
        """Remove the file that is not complete."""
        if self._encoder is not None:
            self._encoder.abandon()
        if self._file is not None:
            self._file.discard()


def file_entry(path: str, records: int, first: int | None, last: int | None) -> dict[str, Any]:
    """A complete file, as the manifest lists it."""
    return {"file": path, "bytes": file_size(path), "records": records, "first_offset": first, "last_offset": last}


class FinishedWork:
    """What is finished of one partition's export: a small file below the directory, replaced after each output file.

    `coverage` is None where there is nothing yet. Raises UsageError for a note that kidx did not write.
    """

    def __init__(self, directory: str, source: Source, asked: Asked, form: Form) -> None:
        self._directory = directory
        self.path = os.path.join(directory, _NOTES, f"{source.name}.json")
        self._request = json.dumps([repr(asked), repr(form._replace(registry=None)), form.registry is not None])
        self.complete = False
        self.coverage: Coverage | None = None
        self._known_request = None
        try:
            with open(self.path, encoding="utf-8") as file:
                known = json.load(file)
            self._known_request, self.complete = known["request"], known["complete"]
            self.coverage = Coverage(**known["coverage"])
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{self.path}: not a note about an export; remove it, or name another directory") from None

    def must_allow(self, *, resume: bool) -> None:
        """Raises UsageError where an export exists and cannot be resumed, or is not to be."""
        if self.coverage is None:
            return
        where = f"{self._directory}: an export is there already"
        if not resume:
            raise UsageError(f"{where}; --resume continues it, or name another directory")
        if self._known_request != self._request:
            raise UsageError(f"{where}, of other records or in another form; name another directory")
        for entry in self.coverage.files:
            try:
                intact = file_size(entry["file"]) == entry["bytes"]
            except KidxError:
                intact = False
            if not intact:
                raise UsageError(f"{entry['file']}: not as it was written; name another directory")

    def save(self, coverage: Coverage, *, complete: bool) -> None:
        """Note what is finished."""
        note = {"request": self._request, "complete": complete, "coverage": coverage.as_row()}
        partial = self.path + ".partial"
        with refusing(self.path):
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(partial, "w", encoding="utf-8") as file:
                file.write(json_text(note))
            os.replace(partial, self.path)
