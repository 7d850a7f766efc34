"""What an Arrow expression, as DuckDB hands it over, says about the rows that it can be true for.

Arrow itself answers: a fragment of a dataset has a guarantee (offset <= 5), and get_fragments leaves out fragments
whose guarantee makes the filter false. So nothing here knows the forms that expressions can take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

_LEAST, _MOST = -(2**63), 2**63 - 1


class Filter:
    """A condition on rows of a schema; None is always true."""

    def __init__(self, expression: Any, schema: pa.Schema) -> None:
        self.expression, self.schema = expression, schema

    @cached_property
    def names(self) -> list[str]:
        """The columns that it may mention, and perhaps others."""
        text = "" if self.expression is None else str(self.expression)
        return [name for name in self.schema.names if name in text]

    def possible(self, guarantees: Sequence[Any]) -> list[bool]:
        """For each guarantee, whether the condition can be true for rows that keep it."""
        if self.expression is None:
            return [True] * len(guarantees)
        form, files = ds.IpcFileFormat(), LocalFileSystem()  # the fragments are never opened
        fragments = [
            form.make_fragment(str(number), filesystem=files, partition_expression=guarantee)
            for number, guarantee in enumerate(guarantees)
        ]
        dataset = ds.FileSystemDataset(fragments, self.schema, form, files)
        left = {fragment.path for fragment in dataset.get_fragments(self.expression)}
        return [str(number) in left for number in range(len(guarantees))]

    def bounds(self, name: str) -> tuple[int, int] | None:
        """The least and most that an int64 column can be, both included; None if a row without a value fulfils it."""
        if name not in self.names:
            return None
        field = ds.field(name)
        if self.possible([field.is_null()])[0]:
            return None
        least = _first(lambda value: self.possible([field <= value])[0])
        if self.possible([field >= _MOST])[0]:
            return least, _MOST
        return least, _first(lambda value: not self.possible([field >= value])[0]) - 1

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows for which it is true."""
        if self.expression is None:
            return batch
        table = pa.Table.from_batches([batch]).filter(self.expression).combine_chunks()
        batches = table.to_batches()
        return batches[0] if batches else batch.slice(0, 0)


def _first(true_from: Callable[[int], bool]) -> int:
    """The least int64 from which on a test holds; the largest one if it holds for none."""
    low, high = _LEAST, _MOST
    while low < high:
        middle = (low + high) // 2
        if true_from(middle):
            high = middle
        else:
            low = middle + 1
    return low
