"""The extra that this room needs."""

from tests.extras import modules_needing

pytest_pycollect_makemodule = modules_needing("sql", "pyarrow", "duckdb")
