"""Scanning a fleet: list, check in tasks, store, merge. The function behind `kidx scan`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kidx.checks.engine.log_dirs import check_log_dirs
from kidx.checks.engine.options import Options
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.run import add, finish, unreadable
from kidx.checks.subjects.log_dirs import LogDirs
from kidx.pipeline.compaction import judge_compaction
from kidx.pipeline.consumer_groups import stranded_groups
from kidx.pipeline.fleet import Fleet, fleet_of
from kidx.pipeline.index_entries import write_entries
from kidx.pipeline.inventory import Inventory, Unit, discover
from kidx.pipeline.manifest import Manifest
from kidx.pipeline.replica_comparison import compare_replicas
from kidx.pipeline.results import Row, buckets_of, checked_of, contents_in, key_of, segments_of
from kidx.pipeline.segment_facts import SegmentFacts
from kidx.pipeline.session import need_spark, spark_session
from kidx.pipeline.store import Store
from kidx.pipeline.waves import plan, run_waves
from kidx.surgery.output import refuse_file, refuse_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a scan runs and what it stores. `config` are Spark's own settings; `out` is a directory, a URI or None."""

    master: str = "local[*]"
    config: Mapping[str, str] = field(default_factory=dict)
    out: str | None = None
    entries: bool = False  # also write index entries below `out`
    compaction: bool = False  # also run a pass of the cleaner over every data partition
    fresh: bool = False  # read everything again, ignoring the manifest
    log_file: str | None = None


@dataclass(slots=True)
class Scanned:
    """The result of a scan: findings and coverage as of `kidx verify`, the fleet's tables, and how much was read."""

    checked: CheckResult
    fleet: Fleet
    inventory: Inventory
    units_read: int
    bytes_read: int
    seconds: float


def scan(
    paths: Iterable[str], options: Options, settings: Settings, progress: Callable[[str, int, int], None]
) -> Scanned:
    """Scan what `paths` stand for. `progress` is called with a phase and the numbers of bytes done and in total.

    Spark is started only if something has to be read. An interrupted scan keeps every finished wave in the manifest
    below `settings.out`. Raises KidxError, Refused for results among what is scanned.
    """
    started = time.monotonic()
    need_spark()
    paths = list(paths)
    if settings.out is not None:
        refuse_place(settings.out, paths)
    if settings.log_file is not None:
        refuse_file(settings.log_file)
    progress("listing", 0, 0)
    now_ms = time.time_ns() // 1_000_000
    inventory = discover(paths, options)
    manifest = Manifest(Store(settings.out)) if settings.out else None
    rows = manifest.known(inventory.units, now_ms) if manifest and not settings.fresh else {}
    pending = [unit for unit in inventory.units if unit.key not in rows]
    with ExitStack() as stack:
        session = _Session(stack, settings, progress)
        if pending:
            for done in _run(session(), pending, options, progress):
                rows |= {key_of(row): row for row in done}
                if manifest:
                    manifest.keep(done)
        checked = _merged(inventory, rows, options)
        segments: list[SegmentFacts] = [s for row in rows.values() for s in segments_of(row)]
        shared = [unit for unit in inventory.units if unit.replicas > 1]
        sums = {u.target.directory: buckets_of(rows[u.key]) for u in shared if u.key in rows}
        replicas = compare_replicas(sums, session)
        compaction: list[Row] = []
        if settings.compaction:
            progress("judging compaction", 0, 0)
            compaction = judge_compaction(session, inventory.units, now_ms)
        if settings.entries and settings.out:
            progress("writing entries", 0, 0)
            write_entries(session, inventory.units, settings.out, fresh=settings.fresh)
    if manifest and (pending or settings.fresh):
        manifest.finish(rows)
    groups = stranded_groups((u.place, contents_in(rows[u.key])) for u in inventory.units if u.key in rows)
    fleet = fleet_of(segments, checked.findings, replicas, now_ms, compaction, groups)
    read = sum(unit.bytes for unit in pending)
    return Scanned(checked, fleet, inventory, len(pending), read, time.monotonic() - started)


class _Session:
    """The Spark session, which the first call starts."""

    def __init__(self, stack: ExitStack, settings: Settings, progress: Callable[[str, int, int], None]) -> None:
        self._stack, self._settings, self._progress = stack, settings, progress
        self._spark: SparkSession | None = None

    def __call__(self) -> SparkSession:
        if self._spark is None:
            self._progress("starting Spark", 0, 0)
            s = self._settings
            self._spark = self._stack.enter_context(spark_session(s.master, s.config, s.log_file))
        return self._spark


def _run(
    spark: SparkSession, pending: list[Unit], options: Options, progress: Callable[[str, int, int], None]
) -> Iterable[list[Row]]:
    total, done = sum(u.bytes for u in pending), 0
    progress("checking", 0, total)
    waves = plan(pending, max(1, spark.sparkContext.defaultParallelism))
    for wave, rows in run_waves(spark, waves, options):
        done += sum(u.bytes for group in wave for u in group)
        progress("checking", done, total)
        yield rows


def _merged(inventory: Inventory, rows: Mapping[str, Row], options: Options) -> CheckResult:
    """All results as one, ordered as by `kidx verify`."""
    whole = CheckResult()
    for sentence in inventory.unlisted:
        add(whole, unreadable(sentence))
    for unit in inventory.units:
        add(whole, checked_of(rows[unit.key]))
    directories = (u.target.directory for u in inventory.units if u.target.names is None)
    add(whole, check_log_dirs(directories, options, LogDirs(), whole.findings))
    finish(whole, options)
    return whole
