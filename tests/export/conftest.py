"""The extra that this room needs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NEEDED = "needs the extra: pip install 'kidx[sql]'"


class _Skipped(pytest.Module):
    def collect(self) -> Any:
        pytest.skip(NEEDED, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Every module of this room imports what only the extra installs."""
    if find_spec("pyarrow") and find_spec("duckdb"):
        return None
    return _Skipped.from_parent(parent, path=module_path)
