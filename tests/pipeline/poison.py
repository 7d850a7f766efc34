"""A task function that dies as a worker does when the system kills it: pickled by value, for workers know no tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from kidx.pipeline.tasks import CheckUnits


class Poisoned(CheckUnits):
    """Ends its process at a directory of the name `payments-1`."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        def watched() -> Iterator[Any]:
            for batch in batches:
                if any(path.endswith("payments-1") for path in batch.column("directory").to_pylist()):
                    os._exit(9)
                yield batch

        yield from super().__call__(watched())
