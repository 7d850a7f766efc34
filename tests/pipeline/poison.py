"""Task functions that fail: pickled by value, for workers know no tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from kidx.pipeline.listing import ListUnits
from kidx.pipeline.tasks import CheckUnits


class Poisoned(CheckUnits):
    """Ends its process at a directory of the name `payments-1`."""

    def check(self, unit: dict[str, Any], log_dirs: Any) -> dict[str, Any]:
        if unit["path"].endswith("payments-1"):
            os._exit(9)
        return super().check(unit, log_dirs)


class Lacking(ListUnits):
    """Fails as on an executor that lacks a package."""

    def rows(self, sent: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        raise ModuleNotFoundError("No module named 'fastcrc'")
