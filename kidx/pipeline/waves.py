"""Checking units on Spark in waves. Each wave is a job, and its results are stored as soon as it is done.

Two jobs run at once, so the next one's tasks fill the cores while the last tasks of one are still running. A wave whose
job fails (one file kills a worker, an executor is lost) is run again, unit by unit: only the unit that fails again is
not checked, and it is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kidx.checks.engine.options import Options
from kidx.errors import CannotRead
from kidx.pipeline.inventory import Unit, pack
from kidx.pipeline.results import RESULT, Row, to_row
from kidx.pipeline.tasks import TASK, CheckUnits, not_checked, task_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP_BYTES = 64 << 20
_SMALLEST_GROUP_BYTES = 8 << 20
_GROUPS_A_CORE = 4
_LEAST_WAVES = 4  # unless the fleet is small, so that an interrupted scan has stored most of its results
_JOBS_AT_ONCE = 2

Wave = list[list[Unit]]  # groups of units, one group for each task


def plan(units: Sequence[Unit], cores: int) -> list[Wave]:
    """Units in groups of about equal cost, groups in waves of _GROUPS_A_CORE a core, expensive groups first."""
    if not units:
        return []
    costs = [u.cost for u in units]
    size = min(GROUP_BYTES, max(_SMALLEST_GROUP_BYTES, math.ceil(sum(costs) / (cores * _GROUPS_A_CORE * _LEAST_WAVES))))
    groups: dict[int, list[Unit]] = {}
    for unit, number in zip(units, pack(costs, size), strict=True):
        groups.setdefault(number, []).append(unit)
    ordered = sorted(groups.values(), key=lambda group: -sum(u.cost for u in group))
    at_once = cores * _GROUPS_A_CORE
    return [ordered[i : i + at_once] for i in range(0, len(ordered), at_once)]


def run_waves(spark: SparkSession, waves: Sequence[Wave], options: Options) -> Iterator[tuple[Wave, list[Row]]]:
    """Each wave with its rows of RESULT, in the order of completion. Raises CannotRead if the cluster has stopped."""
    pool = ThreadPoolExecutor(_JOBS_AT_ONCE, thread_name_prefix="kidx-wave")
    try:
        running: dict[Future[list[Row]], Wave] = {}
        left = iter(waves)
        while True:
            while len(running) < _JOBS_AT_ONCE and (wave := next(left, None)) is not None:
                running[pool.submit(_run_wave, spark, wave, options)] = wave
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _run_wave(spark: SparkSession, wave: Wave, options: Options) -> list[Row]:
    try:
        return _job(spark, wave, options)
    except Exception as e:
        _raise_if_stopped(spark, e)
    units = [unit for group in wave for unit in group]
    return [row for unit in units for row in _alone(spark, unit, options)]


def _alone(spark: SparkSession, unit: Unit, options: Options) -> list[Row]:
    try:
        return _job(spark, [[unit]], options)
    except Exception as e:
        _raise_if_stopped(spark, e)
        why = f"the process that checked it failed twice ({reason(e)})"
        return [to_row(unit.key, unit.mark, not_checked(unit.target.directory, why))]


def _job(spark: SparkSession, wave: Wave, options: Options) -> list[Row]:
    """Run one Spark job, with a partition for each group."""
    rows = [task_row(unit, number) for number, group in enumerate(wave) for unit in group]
    sent = spark.createDataFrame(pa.Table.from_pylist(rows, schema=TASK))
    placed = sent.repartitionById(len(wave), "group") if len(wave) > 1 else sent.coalesce(1)
    found = placed.mapInArrow(CheckUnits(options), spark_schema(RESULT)).toArrow()
    results: list[Row] = found.to_pylist()
    return results


def spark_schema(schema: pa.Schema) -> Any:
    """An Arrow schema as Spark's StructType."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def _raise_if_stopped(spark: SparkSession, e: Exception) -> None:
    try:
        stopped = spark.sparkContext._jsc.sc().isStopped()
    except Exception:
        stopped = True
    if stopped:
        raise CannotRead(
            f"Spark stopped during the scan ({reason(e)}); run it again, with --out it continues"
        ) from None


def reason(e: Exception) -> str:
    """The most informative line of a Spark error, at most 160 characters."""
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    for word in ("OutOfMemory", "MemoryError", "exited unexpectedly", "ExecutorLostFailure", "Error", "Exception"):
        for line in lines:
            if word in line:
                return line[-160:]
    return lines[0][-160:] if lines else type(e).__name__
