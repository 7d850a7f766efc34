"""Settings for all tests: repeatable hypothesis runs, and what is skipped where, always with the reason printed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Deterministic and short, so that a red run is red again. `pytest --hypothesis-profile=thorough` hunts at random.
settings.register_profile(
    "kidx",
    derandomize=True,
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", max_examples=2000, deadline=None, database=None)
settings.load_profile("kidx")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--interop", action="store_true", help="run the tests that ask a real Kafka or RocketMQ")
    parser.addoption("--refresh", action="store_true", help="rewrite kept transcripts with what commands print now")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    no_interop = _why_no_interop(config)
    no_spark = "" if find_spec("pyspark") else "needs the extra: pip install 'kidx[spark]'"
    for item in items:
        if no_interop and item.get_closest_marker("interop"):
            item.add_marker(pytest.mark.skip(reason=no_interop))
        if no_spark and item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.skip(reason=no_spark))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """All tests with Spark in one worker, so that one session serves them and one JVM runs at a time.

    xdist's own groups do not come through with pytest 9.2 (pytest-dev/pytest-xdist#1386), so the room decides.
    """
    if config.getvalue("dist") not in ("load", "loadgroup"):
        return None
    from xdist.scheduler import LoadGroupScheduling

    class SparkTogether(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if nodeid.startswith("tests/pipeline/") else nodeid

    return SparkTogether(config, log)


def _why_no_interop(config: pytest.Config) -> str:
    if not config.getoption("--interop"):
        return "asks a real broker's code, from Maven Central: `make interop` runs it"
    from tests.interop.lab import why_not

    return why_not()
