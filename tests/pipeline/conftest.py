"""The extra that this room needs, and one Spark session for all tests of the run: starting one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.extras import modules_needing

pytest_pycollect_makemodule = modules_needing("spark", "pyarrow", "pyspark")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from kidx.pipeline.session import spark_session

    with spark_session("local[2]", {"spark.sql.shuffle.partitions": "2"}) as session:
        yield session
