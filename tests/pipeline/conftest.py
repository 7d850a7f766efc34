"""The extra that this room needs, and one Spark session for all tests of the run: starting one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NEEDED = "needs the extra: pip install 'kidx[spark]'"


class _Skipped(pytest.Module):
    """A module of this room where the extra is not installed: not even imported, and it says why."""

    def collect(self) -> Any:
        pytest.skip(NEEDED, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Every module of this room imports what only the extra installs."""
    if find_spec("pyarrow") and find_spec("pyspark"):
        return None
    return _Skipped.from_parent(parent, path=module_path)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from kidx.pipeline.session import spark_session

    with spark_session("local[2]", {"spark.sql.shuffle.partitions": "2"}) as session:
        yield session
