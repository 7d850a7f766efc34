"""The directory for results, local or in a remote store. Files are written completely, then renamed into place."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from kidx.errors import KidxError, Refused
from kidx.evidence import absolute, is_uri

_ROWS_READ = 1024


class Store:
    """A directory for results; `root` is a path or a URI. Nothing is created before the first write."""

    def __init__(self, root: str) -> None:
        self.root = absolute(root)
        if is_uri(root):
            from kidx.evidence.remote import locate

            self._fs, self._base = locate(self.root)
        else:
            self._fs, self._base = pafs.LocalFileSystem(), self.root

    def write_table(self, name: str, table: pa.Table) -> None:
        """A table as one Parquet file. Raises Refused."""
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        self.write(name, sink.getvalue())

    def write_json(self, name: str, value: Any) -> None:
        """A value as JSON, indented for people. Raises Refused."""
        self.write(name, (json.dumps(value, indent=1, ensure_ascii=True) + "\n").encode())

    def write(self, name: str, data: bytes | pa.Buffer) -> None:
        """Write a file under a temporary name and rename it: readers never see a partial file. Raises Refused."""
        path = f"{self._base}/{name}"
        temporary = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
        try:
            self._fs.create_dir(path.rpartition("/")[0], recursive=True)
            with self._fs.open_output_stream(temporary) as stream:
                stream.write(data)
            self._fs.move(temporary, path)
        except (OSError, pa.ArrowException) as e:
            raise Refused(f"{self.root}/{name}: it could not be written ({str(e).splitlines()[0]})") from None

    def try_out(self) -> None:
        """Write a file and delete it again, before anything is scanned. Raises Refused."""
        self.write(".kidx", b"")
        self.delete(".kidx")

    def names(self, directory: str, suffix: str = ".parquet") -> list[str]:
        """The files of a directory and of those below it that end so, by name below the root. Raises KidxError."""
        selector = pafs.FileSelector(f"{self._base}/{directory}", recursive=True, allow_not_found=True)
        try:
            listed = self._fs.get_file_info(selector)
        except OSError as e:
            raise KidxError(f"{self.root}: it cannot be listed ({str(e).splitlines()[0]})") from None
        paths = (str(info.path) for info in listed if info.is_file and info.path.endswith(suffix))
        return sorted(path[len(self._base.rstrip("/")) + 1 :] for path in paths)

    def read_json(self, name: str) -> Any:
        """The value in a JSON file; None if it does not exist or is not JSON."""
        try:
            with self._fs.open_input_stream(f"{self._base}/{name}") as stream:
                return json.loads(stream.read())
        except (OSError, ValueError):
            return None

    def batches(self, name: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """A Parquet file's batches; none if it is not Parquet (the disk was full) or has other columns."""
        try:
            with self._fs.open_input_file(f"{self._base}/{name}") as file:
                parquet = pq.ParquetFile(file)
                if parquet.schema_arrow.names == schema.names:
                    for batch in parquet.iter_batches(batch_size=_ROWS_READ):
                        yield batch.cast(schema)
        except (OSError, ValueError, pa.ArrowException):  # ValueError: names that are not UTF-8
            return

    def table(self, name: str) -> pa.Table | None:
        """One Parquet file; None if it does not exist or is not Parquet."""
        try:
            with self._fs.open_input_file(f"{self._base}/{name}") as file:
                return pq.read_table(file)
        except (OSError, ValueError, pa.ArrowException):  # ValueError: names that are not UTF-8
            return None

    def delete(self, name: str) -> None:
        """Delete a file, if it exists."""
        try:
            self._fs.delete_file(f"{self._base}/{name}")
        except OSError:
            return

    def delete_directory(self, name: str) -> None:
        """Delete a directory and everything in it, if it exists."""
        try:
            self._fs.delete_dir(f"{self._base}/{name}")
        except OSError:
            return
