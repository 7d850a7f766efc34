"""The tables about a fleet, as DataFrames over the results of the tasks. docs/schemas-fleet.md documents their fields.

Brokers are named by the paths of their log dirs, clusters by their cluster.id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from kidx.checks.catalogue import RULES
from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.log_dirs import check_log_dirs
from kidx.checks.engine.options import Options
from kidx.checks.subjects.log_dirs import LogDirs
from kidx.findings import ERROR, SEVERITIES, Finding, limited
from kidx.logdir.log_dir import METADATA_TOPIC, LogDir
from kidx.pipeline.consumer_groups import STRANDED, commit_of
from kidx.pipeline.fleet_compaction import CLEANERS, COMPACTION, COMPACTION_TOPICS
from kidx.pipeline.frames import Row, TaskFunction, from_arrow_text, map_rows, spark_schema, to_arrow_text
from kidx.pipeline.places import place_of
from kidx.pipeline.replica_sets import judge_replicas, replica_sets
from kidx.pipeline.results import (
    PLACED_FINDINGS,
    SIZES,
    STALLED,
    WARM_SECTION,
    finding_row,
    replica_of,
    retained_in,
)
from kidx.pipeline.tasks import as_given

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_INT, _TEXT = pa.int64(), pa.string()
_PLACE = [("cluster", _TEXT), ("broker", _TEXT), ("topic", _TEXT), ("partition", pa.int32())]
_MEASURES = [
    ("partitions", _INT),
    *((name, _INT) for name in SIZES),
    ("log_bytes_per_entry", _INT),
    *((f"{severity}s", _INT) for severity in SEVERITIES),
]
_HELD = pa.struct([("size", _INT), ("crc", _INT), ("leader_epoch", _INT)])
_REPLICA = pa.struct(
    [
        ("broker", _TEXT),
        ("log_end", _INT),
        ("behind", _INT),
        ("empty", pa.bool_()),
        ("differs", pa.bool_()),
        ("held", _HELD),
    ]
)
REPLICAS = pa.schema(
    [
        *((name, _TEXT) for name in ("cluster", "topic_id", "topic")),
        ("partition", pa.int32()),
        ("replicas", pa.list_(_REPLICA)),
        ("agree", pa.bool_()),
        ("diverges_at", _INT),
        ("cleaned_below", _INT),
    ]
)
_JUDGED = pa.schema([*REPLICAS, ("findings", pa.list_(pa.struct(list(PLACED_FINDINGS))))])


# The tables: the schema of a row, by name and as Arrow fields.
TABLES = {
    "brokers": ("kidx.fleet_broker.v1", pa.schema([*_PLACE[:2], *_MEASURES])),
    "topics": ("kidx.fleet_topic.v1", pa.schema([_PLACE[0], _PLACE[2], *_MEASURES])),
    "partitions": ("kidx.fleet_partition.v1", pa.schema([*_PLACE, *_MEASURES[1:]])),
    "rules": (
        "kidx.fleet_rule.v1",
        pa.schema(
            [(n, _TEXT) for n in ("rule", "name", "severity")]
            + [(n, _INT) for n in ("findings", "files", "partitions")]
        ),
    ),
    "warm_sections": ("kidx.fleet_warm_section.v1", pa.schema([*_PLACE, *WARM_SECTION])),
    "stalled_retention": ("kidx.fleet_stalled_retention.v1", pa.schema([*_PLACE, *STALLED])),
    "replicas": ("kidx.fleet_replicas.v2", REPLICAS),
    "stranded_groups": ("kidx.fleet_stranded_group.v1", STRANDED),
    "compaction": ("kidx.fleet_compaction.v1", COMPACTION),
    "compaction_topics": ("kidx.fleet_compaction_topic.v1", COMPACTION_TOPICS),
    "cleaners": ("kidx.fleet_cleaner.v1", CLEANERS),
}


class JudgeCommits(TaskFunction):
    """Rows of STRANDED in, findings out."""

    def __init__(self, *, live: bool) -> None:
        super().__init__(PLACED_FINDINGS)
        self.live = live

    def rows(self, sent: Iterator[Row]) -> Iterator[Row]:
        for row in sent:
            for finding in limited(findings_about(commit_of(row, live=self.live))):
                yield _placed(finding, row["cluster"], [])


class JudgeRetention(TaskFunction):
    """Rows of RESULT in, findings out."""

    def __init__(self, now_ms: int) -> None:
        super().__init__(PLACED_FINDINGS)
        self.now_ms = now_ms

    def rows(self, sent: Iterator[Row]) -> Iterator[Row]:
        for row in sent:
            for retained in retained_in(row, self.now_ms):
                for finding in limited(findings_about(retained)):
                    yield _placed(finding, row["cluster_id"], [])


class JudgeLogDirs(TaskFunction):
    """The log dirs of a fleet in, findings about each of them and about all together out. One task has all of them.

    A row with a null `log_dir` is a directory with an error in its files.
    """

    def __init__(self, roots: list[tuple[str, str]], options: Options) -> None:
        super().__init__(PLACED_FINDINGS)
        self.roots, self.options = roots, options

    def rows(self, sent: Iterator[Row]) -> Iterator[Row]:
        directories, damaged = [], []
        for row in sent:
            path = from_arrow_text(row["path"])
            if row["log_dir"]:
                directories.append(path)
            else:
                damaged.append(Finding("", ERROR, f"{path}/-", None, None, None, None, None, "", ""))
        for finding in check_log_dirs(sorted(directories), self.options, LogDirs(), damaged).findings:
            log_dir = next((d for d in directories if finding.file.startswith(d + "/")), place_of(finding.file).broker)
            yield _placed(finding, LogDir(log_dir).identity.cluster_id, self.roots)


def _placed(finding: Finding, cluster: str | None, roots: list[tuple[str, str]]) -> Row:
    """A finding as a row of PLACED_FINDINGS, with the paths that the user gave."""
    file = finding.file
    place = place_of(file)
    if place.topic is None:
        place = place_of(file.rpartition("/")[0] or ".")
    row = as_given(finding_row(finding), roots)
    directory = row["file"] if place_of(file).topic is not None else row["file"].rpartition("/")[0] or "."
    where = place._asdict() | {
        "broker": to_arrow_text(place.broker),
        "topic": place.topic and to_arrow_text(place.topic),
    }
    return {"cluster": cluster, **where, "directory": directory, **row}


def judged_replicas(results: DataFrame, roots: list[tuple[str, str]], *, live: bool) -> DataFrame:
    """A row of REPLICAS with `findings` for each partition that several directories have."""

    def judge(rows: pa.Table) -> pa.Table:
        """Rows of RESULT of one topic's name and partition in, a row for each set of replicas out."""
        judged = []
        for replicas in replica_sets(replica_of(row) for row in rows.to_pylist()):
            row, findings = judge_replicas(replicas, live=live)
            judged.append(row | {"findings": [_placed(f, row["cluster"], roots) for f in findings]})
        return pa.Table.from_pylist(judged, schema=_JUDGED)

    shared = results.where("compared").groupBy("topic", "partition")
    return shared.applyInArrow(judge, spark_schema(_JUDGED))


def unit_findings(results: DataFrame) -> DataFrame:
    """The findings of the checks, from rows of RESULT, as rows of PLACED_FINDINGS."""
    from pyspark.sql import functions as f

    place = f.col("cluster_id").alias("cluster"), "broker", "topic", "partition", "directory"
    found = results.where(f.size("findings") > 0).select(*place, f.explode("findings").alias("f"))
    return found.select(*PLACED_FINDINGS.names[:5], "f.*")


def fleet_findings(
    results: DataFrame,
    judged: DataFrame,
    stranded: DataFrame,
    roots: list[tuple[str, str]],
    options: Options,
    now_ms: int,
) -> DataFrame:
    """What only more than one directory shows, as rows of PLACED_FINDINGS: log dirs, replicas, groups, retention."""
    from pyspark.sql import functions as f

    damaged = f.exists("findings", lambda x: x.severity == ERROR) & (f.col("topic") == METADATA_TOPIC)
    log_dirs = results.where(f.col("log_dir") | damaged).select("path", "log_dir").coalesce(1)
    found = map_rows(log_dirs, JudgeLogDirs(roots, options))
    found = found.unionByName(judged.select(f.explode("findings").alias("f")).select("f.*"))
    found = found.unionByName(map_rows(stranded, JudgeCommits(live=options.live)))
    found = found.unionByName(map_rows(results.where(f.size("stalled_retention") > 0), JudgeRetention(now_ms)))
    if options.rules is None or options.rules >= RULES.keys():
        return found
    return found.where(f.col("rule").isin(*options.rules))


def partition_tables(results: DataFrame, found: DataFrame, judged: DataFrame) -> dict[str, DataFrame]:
    """The tables with a row for each partition, segment or set of replicas. `found` are the fleet's findings."""
    from pyspark.sql import functions as f

    place: list[Column | str] = [f.col("cluster_id").alias("cluster"), "broker", "topic", "partition"]
    plurals = {severity: f"{severity}s" for severity in SEVERITIES}
    more = found.groupBy("directory").agg(*(f.count_if(f.col("severity") == s).alias(s) for s in SEVERITIES))
    counted = [
        (f.expr(f"size(filter(findings, x -> x.severity = '{s}'))") + f.coalesce(s, f.lit(0))).cast("bigint").alias(p)
        for s, p in plurals.items()
    ]
    entries = f.col("index_entries")
    density = f.when(entries > 0, f.round(f.col("log_bytes") / entries).cast("bigint")).alias("log_bytes_per_entry")
    measured = results.join(more, "directory", "left").select(*place, *SIZES, density, *counted)
    tables = {"partitions": measured.where("segments > 0 or errors + warnings + notes > 0")}
    for name in ("warm_sections", "stalled_retention"):
        exploded = results.select(*place, f.explode(name).alias("row"))
        tables[name] = exploded.select(*(column for column, _ in _PLACE), "row.*")
    return tables | {"replicas": judged.drop("findings")}
