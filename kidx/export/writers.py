"""Records as files: Parquet, Arrow, JSON lines, CSV; each file appears under its name when it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Queue
from threading import Thread
from typing import IO, TYPE_CHECKING, Any, Protocol

from kidx.errors import Refused, UsageError
from kidx.export.text_rows import bytes_of, json_lines

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "arrow", "jsonl", "csv")
GROUP_BYTES = 32 << 20  # of records in memory before a row group of Parquet is written
_ZSTD_LEVEL = 1  # compresses at disk speed; higher levels cost far more than they save
_WAITING = 2  # batches between the thread that reads and the one that writes
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Encoder(Protocol):
    """Writes batches to an open file in one format."""

    held_bytes: int  # of batches that are not in the file yet

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...


class _Parquet:
    """Row groups of GROUP_BYTES, zstd."""

    def __init__(self, out: IO[bytes], schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._writer = pq.ParquetWriter(out, schema, compression="zstd", compression_level=_ZSTD_LEVEL)
        self._held: list[pa.RecordBatch] = []
        self.held_bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self.held_bytes += batch.nbytes
        if self.held_bytes >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._held:
            table = pa.Table.from_batches(self._held)
            self._writer.write_table(table, row_group_size=len(table))
        self._held, self.held_bytes = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        self._writer.is_open = False  # else its destructor writes to a file that is closed


class _Abandoned:
    def abandon(self) -> None:
        pass


class _Arrow(_Abandoned):
    """The IPC file format (Feather 2), or the stream format where the output cannot be sought in."""

    held_bytes = 0

    def __init__(self, out: IO[bytes], schema: pa.Schema, *, stream: bool) -> None:
        import pyarrow as pa

        self._writer = pa.ipc.new_stream(out, schema) if stream else pa.ipc.new_file(out, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


class _JsonLines(_Abandoned):
    held_bytes = 0

    def __init__(self, out: IO[bytes], json_columns: frozenset[str]) -> None:
        self._out, self._json_columns = out, json_columns

    def write(self, batch: pa.RecordBatch) -> None:
        rest = bytes_of(json_lines(batch, self._json_columns))
        while rest:  # a file without a buffer may take less than all
            rest = rest[self._out.write(rest) :]

    def close(self) -> None:
        pass


class _Csv(_Abandoned):
    """A header, then rows; absent values are empty, empty strings are quoted."""

    held_bytes = 0

    def __init__(self, out: IO[bytes], schema: pa.Schema) -> None:
        from pyarrow import csv

        self._writer = csv.CSVWriter(out, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write(batch)

    def close(self) -> None:
        self._writer.close()


def encoder(
    form: str, out: IO[bytes], schema: pa.Schema, json_columns: frozenset[str], *, stream: bool = False
) -> Encoder:
    """An encoder of one of FORMATS. `json_columns` hold JSON as text. `stream`: the output cannot be sought in."""
    if form == "parquet":
        return _Parquet(out, schema)
    if form == "arrow":
        return _Arrow(out, schema, stream=stream)
    return _JsonLines(out, json_columns) if form == "jsonl" else _Csv(out, schema)


class NewFile:
    """A file that is not there yet: written under another name next to it, and renamed by `commit`.

    Raises UsageError if there is a file of that name, Refused where the system declines.
    """

    def __init__(self, path: str, *, replace: bool = False) -> None:
        """`replace`: there may be a file of that name, which stays until `commit`."""
        self.path = path
        directory, name = os.path.split(path)
        self._partial = os.path.join(directory, f".{name}.partial")
        if not replace and os.path.lexists(path):
            raise UsageError(f"{path}: there is a file of that name already; name another, or remove it")
        with refusing(path):
            with suppress(FileNotFoundError):
                os.unlink(self._partial)
            self.out: IO[bytes] = os.fdopen(os.open(self._partial, _CREATE, 0o666), "wb", buffering=0)

    def commit(self) -> None:
        """Give the file its name."""
        with refusing(self.path):
            self.out.close()
            os.rename(self._partial, self.path)

    def discard(self) -> None:
        """Remove what was written."""
        self.out.close()
        with suppress(OSError):
            os.unlink(self._partial)


@contextmanager
def refusing(path: str) -> Iterator[None]:
    """A failed system call becomes a refusal with its reason."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as e:
        raise Refused(f"{path}: cannot be written: {(e.strerror or str(e)).lower()}") from None


class Background:
    """Runs a function on items in a second thread, in order; a context manager that waits for it.

    pyarrow and compression release Python's lock, so that reading and writing use a processor each.
    """

    def __init__(self, function: Callable[[Any], None]) -> None:
        self._function = function
        self._items: Queue[Any] = Queue(_WAITING)
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Background:
        self._thread.start()
        return self

    def put(self, item: Any) -> None:
        """Hand over an item. Raises what the function has raised on an earlier one."""
        if self._failure is not None:
            raise self._failure
        self._items.put(item)

    def wait(self) -> None:
        """Wait until every item is done. Raises as `put` does."""
        self._items.join()
        if self._failure is not None:
            raise self._failure

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._items.put(None)
        self._thread.join()
        if kind is None and self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        while (item := self._items.get()) is not None:
            if self._failure is None:
                try:
                    self._function(item)
                except BaseException as e:
                    self._failure = e
            self._items.task_done()
