"""Scanning a fleet: list, check, compare and store, all as DataFrames. The function behind `kidx scan`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kidx.checks.engine.options import Options
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.run import finish
from kidx.errors import CannotRead, KidxError
from kidx.findings import Coverage, Skipped
from kidx.logdir.tree import expand
from kidx.pipeline.compaction import judge_compaction
from kidx.pipeline.consumer_groups import stranded_groups
from kidx.pipeline.fleet import TABLES, fleet_findings, judged_replicas, partition_tables, unit_findings
from kidx.pipeline.fleet_compaction import compaction_tables
from kidx.pipeline.frames import frame_of, from_arrow_text, kept, map_rows, parallelism, reason
from kidx.pipeline.index_entries import ENTRY_FILES, WRITTEN, write_entries
from kidx.pipeline.listing import Inventory, list_units
from kidx.pipeline.pieces import GROUP_BYTES
from kidx.pipeline.results import COUNTS, PLACED_FINDINGS, RESULT, finding_of
from kidx.pipeline.runs import FINDINGS, UNITS, Run, Runs
from kidx.pipeline.shipping import ship
from kidx.pipeline.store import Store
from kidx.pipeline.summary import Summary, summarize
from kidx.pipeline.tasks import CheckUnits
from kidx.surgery.output import refuse_place

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_SMALLEST_GROUP_BYTES = 8 << 20
_GROUPS_A_CORE = 16
_MOST_GROUPS = 20_000  # the driver needs some memory for each task
NEW, PERSISTING, FIXED, GONE = "new", "persisting", "fixed", "gone"
FINDINGS_TABLE = pa.schema([("change", pa.string()), *PLACED_FINDINGS])
_OF_UNITS = ("partitions", "warm_sections", "stalled_retention")  # tables that the rows of RESULT hold
Progress = Callable[[str], None]


def scan(
    spark: SparkSession,
    paths: str | Iterable[str],
    options: Options | None = None,
    *,
    out: str | None = None,
    fresh: bool = False,
    entries: bool = False,
    compaction: bool = False,
    progress: Progress = lambda phase: None,
    **checks: Any,
) -> Scanned:
    """Check the log dirs that paths stand for, with the session's executors. Nothing is collected.

    `out` is a directory or URI that keeps the results: units that have not changed since the last run are not read
    again, unless `fresh`. `entries` also writes every index entry there. `compaction` also judges what compaction would
    save. `checks` are fields of Options: live, level, rules, ... Raises KidxError.
    """
    options = (options or Options())._replace(**checks)
    paths = list(expand([paths] if isinstance(paths, str) else paths))
    now_ms = time.time_ns() // 1_000_000
    runs = None if out is None else Runs(store_at(out, paths))
    ship(spark)
    with _causes(spark, out):
        progress("listing")
        inventory = list_units(spark, paths, options)
        scanned = Scanned(spark, inventory, options, Run.begun(now_ms), now_ms, runs)
        progress("checking")
        scanned.check(fresh=fresh)
        progress("comparing")
        scanned.judge(compaction=compaction)
        if entries and out is not None:
            progress("writing entries")
            scanned.write_entries(fresh=fresh)
    return scanned


def store_at(out: str, paths: Iterable[str]) -> Store:
    """The store for results at `out`, after a file was written there and deleted again.

    Raises Refused for a place among `paths`, or one that cannot be written to.
    """
    refuse_place(out, paths)
    store = Store(out)
    store.try_out()
    return store


class Scanned:
    """The result of a scan.

    `results` has a row of RESULT for each unit, `findings` a row of FINDINGS_TABLE for each finding, `tables` the
    fleet's tables (docs/schemas-fleet.md). With `out`, `change` says of a finding whether it is new or persists since
    the last run, and `fixed` has the earlier ones that are fixed, or whose directory is gone.
    """

    results: DataFrame
    findings: DataFrame
    fixed: DataFrame
    tables: dict[str, DataFrame]

    def __init__(
        self,
        spark: SparkSession,
        inventory: Inventory,
        options: Options,
        run: Run,
        now_ms: int,
        runs: Runs | None,
    ) -> None:
        self.spark, self.inventory, self.options = spark, inventory, options
        self.run, self.now_ms, self._runs = run, now_ms, runs
        self.units_read = self.bytes_read = 0
        self._entry_files: DataFrame | None = None
        self._summary: Summary | None = None

    def check(self, *, fresh: bool) -> None:
        """Check the units that are not known."""
        from pyspark.sql import functions as f

        units = self.inventory.units
        known = self._runs.known(self.spark, self.now_ms) if self._runs is not None and not fresh else None
        pending = units if known is None else kept(units.join(known, ["key", "mark"], "left_anti"))
        work = pending.agg(f.count(f.lit(1)), f.sum("cost"), f.sum("bytes")).collect()[0]
        self.units_read, cost, self.bytes_read = work[0], work[1] or 0, work[2] or 0
        groups = groups_for(self.units_read, cost, parallelism(self.spark))
        placed = pending.repartition(groups, "key")
        journal = None if self._runs is None else self._runs.journal(self.run)
        checked = map_rows(placed, CheckUnits(self.options, self.now_ms, journal))
        if known is not None:
            checked = checked.unionByName(known.join(units.select("key", "mark"), ["key", "mark"]))
        self.results = kept(checked)
        self.coverage = self._coverage()

    def _coverage(self) -> Coverage:
        """What was checked, in numbers. This runs the checks."""
        from pyspark.sql import functions as f

        sums = self.results.agg(*(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in COUNTS)).collect()[0]
        return Coverage(**sums.asDict())

    def judge(self, *, compaction: bool) -> None:
        """Compare replicas and committed offsets, examine log dirs, and make the tables."""
        roots = sorted((r for r in self.inventory.roots if r[0] != r[1]), key=lambda r: -len(r[0]))
        judged = kept(judged_replicas(self.results, roots, live=self.options.live))
        stranded = kept(stranded_groups(self.results))
        found = kept(fleet_findings(self.results, judged, stranded, roots, self.options, self.now_ms))
        cleaned = None
        if compaction:
            cleaned = kept(judge_compaction(self.results, self._tasks(), self.now_ms))
        stored = partition_tables(self.results, found, judged) | {"stranded_groups": stranded}
        if cleaned is not None:
            stored |= {name: kept(frame) for name, frame in compaction_tables(cleaned).items()}
        self.tables = {name: frame.select(*TABLES[name][1].names) for name, frame in stored.items()}
        self._fleet_findings = found
        self.findings, self.fixed = self._since_last_run(unit_findings(self.results).unionByName(found))

    def _since_last_run(self, found: DataFrame) -> tuple[DataFrame, DataFrame]:
        """The findings with `change`, and those of the last run that are no longer there."""
        from pyspark.sql import functions as f

        before = None if self._runs is None else self._runs.read(self.spark, FINDINGS, FINDINGS_TABLE)
        if before is None:
            before = frame_of(self.spark, [], FINDINGS_TABLE)
            return found.select(f.lit(NEW).alias("change"), *PLACED_FINDINGS.names), before
        keyed, earlier = found.withColumn("same", _identity()), before.withColumn("same", _identity())
        seen = earlier.select("same").distinct().withColumn("seen", f.lit(PERSISTING))
        change = f.coalesce("seen", f.lit(NEW)).alias("change")
        read = self.results.where(f.size("unread") == 0).select("directory").distinct().withColumn("read", f.lit(FIXED))
        gone = earlier.join(keyed.select("same").distinct(), "same", "left_anti").drop("change")
        unread = self.results.where(f.size("unread") > 0).select("directory").distinct()
        gone = gone.join(unread, "directory", "left_anti").join(read, "directory", "left")
        return (
            keyed.join(seen, "same", "left").select(change, *PLACED_FINDINGS.names),
            gone.select(f.coalesce("read", f.lit(GONE)).alias("change"), *PLACED_FINDINGS.names),
        )

    def write_entries(self, *, fresh: bool) -> None:
        """Write every index entry below `out`."""
        assert self._runs is not None
        earlier = None if fresh else self._runs.read(self.spark, ENTRY_FILES, WRITTEN)
        self._entry_files = write_entries(self.results, self._runs.store.root, earlier, self._tasks())

    def _tasks(self) -> int:
        """As many tasks as there is work in the whole fleet."""
        return groups_for(self.inventory.number, self.inventory.bytes, parallelism(self.spark))

    def checked(self) -> CheckResult:
        """Findings and coverage as `kidx verify` has them: collected, ordered."""
        from pyspark.sql import functions as f

        with _causes(self.spark, None):
            found = self.findings.drop("change").toArrow().to_pylist()
            odd = self.results.where((f.size("skipped") > 0) | (f.size("unread") > 0)).select("skipped", "unread")
            rows = odd.toArrow().to_pylist()
        skipped = [Skipped(from_arrow_text(s["what"]), from_arrow_text(s["why"])) for r in rows for s in r["skipped"]]
        coverage = Coverage(**{name: getattr(self.coverage, name) for name in COUNTS}, skipped=skipped)
        unread = [from_arrow_text(sentence) for row in rows for sentence in row["unread"]]
        checked = CheckResult([finding_of(row) for row in found], coverage, unread)
        finish(checked, self.options)
        return checked

    def summary(self) -> Summary:
        """Sums by broker, topic and rule, and the most important rows of each table."""
        if self._summary is None:
            listed = {name: frame for name, frame in self.tables.items() if name not in _OF_UNITS}
            with _causes(self.spark, None):
                self._summary = summarize(self.results, self._fleet_findings, listed)
        return self._summary

    def store(self, summary: Mapping[str, Any], page: str | None = None) -> None:
        """Write the run's part of every table below `out`, then its summary, which makes the run complete.

        `summary` is a kidx.summary.v1 object, `page` the report as HTML.
        """
        assert self._runs is not None
        written = {UNITS: (self.results, RESULT), FINDINGS: (self.findings, FINDINGS_TABLE)}
        written |= {"fixed_findings": (self.fixed, FINDINGS_TABLE)}
        written |= {name: (frame, TABLES[name][1]) for name, frame in self.tables.items()}
        for name in ("brokers", "topics", "rules"):
            fields = TABLES[name][1]
            written[name] = frame_of(self.spark, self.summary().tables()[name], fields), fields
        if self._entry_files is not None:
            written[ENTRY_FILES] = (self._entry_files, WRITTEN)
        with _causes(self.spark, None):
            self._runs.write(self.run, written, self.inventory.number)
        if page is not None:
            self._runs.store.write("report.html", page.encode("utf-8", "backslashreplace"))
        self._runs.finish(self.run, self.as_object(summary))

    def as_object(self, summary: Mapping[str, Any]) -> Mapping[str, Any]:
        """The run as a kidx.fleet.v2 object, with the most important rows of each table."""
        fleet = self.summary()
        tables = {n: [{"schema": TABLES[n][0]} | row for row in rows] for n, rows in fleet.tables().items()}
        read = {"units_read": self.units_read, "bytes_read": self.bytes_read}
        sizes = {"files": self.inventory.files, "bytes": self.inventory.bytes, "units": self.inventory.number}
        run = {"schema": "kidx.fleet.v2"} | self.run._asdict()
        return run | {"summary": dict(summary), "scan": sizes | read, "rows": fleet.counts(), **tables}

    def append_to(self, table: str) -> None:
        """Append the findings to a table of Spark's catalogs, with `run_id` and `run_date`; create it if needed."""
        from pyspark.sql import functions as f

        run = f.lit(self.run.run_id).alias("run_id"), f.lit(self.run.run_date).cast("date").alias("run_date")
        rows = self.findings.select(*run, "*")
        with _causes(self.spark, None):
            rows.write.mode("append").partitionBy("run_date").saveAsTable(table)


def _identity() -> Column:
    """What makes two findings of two runs the same one, as text."""
    from pyspark.sql import functions as f

    group = f.get_json_object("found", "$.group").alias("group")
    return f.to_json(f.struct("rule", "file", "byte_start", "slot", group))


def groups_for(count: int, cost: int, cores: int) -> int:
    """How many tasks should share `count` units of this cost, in bytes: about GROUP_BYTES each, if there are many."""
    size = min(GROUP_BYTES, max(_SMALLEST_GROUP_BYTES, math.ceil(cost / (cores * _GROUPS_A_CORE))))
    return max(1, min(count, _MOST_GROUPS, max(2 * cores, math.ceil(cost / size))))


@contextmanager
def _causes(spark: SparkSession, out: str | None) -> Iterator[None]:
    """Turn Spark's errors into CannotRead with the cause in one sentence."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except KidxError:
        raise
    except (PySparkException, Py4JError, ConnectionError) as e:
        again = "; run it again, with --out it continues" if out else ""
        raise CannotRead(f"Spark could not do it ({reason(e)}){again}") from None
