"""The summary of a fleet: sums by broker, topic and rule, and the most important rows of every other table.

Each task sums up its rows, and one last task adds the sums. So the driver gets a few rows, however large the fleet is,
and none of the rows passes through the JVM more than once.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kidx.checks.catalogue import RULES
from kidx.findings import SEVERITIES
from kidx.pipeline.frames import Row, TaskFunction, map_rows
from kidx.pipeline.results import SIZES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_ROWS = 100  # of a table that has a row for each partition or segment
PLACE = ("cluster", "broker", "topic", "partition")
_PLURALS = {severity: f"{severity}s" for severity in SEVERITIES}
_PART = pa.schema([("table", pa.string()), ("key", pa.string()), ("row", pa.string())])
_SUMMED = {"brokers": ("cluster", "broker"), "topics": ("cluster", "topic"), "rules": ("rule", "severity")}
_COUNTED = "rows"  # how many rows each table of _WORST has


def _severity_first(row: Row) -> tuple[Any, ...]:
    return *(-row[plural] for plural in _PLURALS.values()), -row["log_bytes"]


# The order of the rows of the other tables, the most important first.
_WORST: dict[str, Callable[[Row], tuple[Any, ...]]] = {
    "partitions": _severity_first,
    "warm_sections": lambda row: (row["coverage"], row["warm_records"]),
    "stalled_retention": lambda row: (-row["held_bytes"],),
    "replicas": lambda row: (row["agree"], -max(replica["behind"] for replica in row["replicas"])),
    "stranded_groups": lambda row: (-row["records"],),
    "compaction": lambda row: (-(row["bytes_saved"] or 0),),
    "compaction_topics": lambda row: (-row["bytes_saved"],),
    "cleaners": lambda row: (-(row["smallest_dedupe_buffer_bytes"] or 0),),
}


class Summary:
    """Sums by key, and the first MOST_ROWS rows of other tables. Summaries of parts of a fleet can be added."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], Counter[str]] = {}
        self._rows: dict[str, list[Row]] = {}
        self._counts: Counter[str] = Counter()

    def take(self, table: str, row: Row, count: int = 1) -> None:
        """Add a row of a table that is not summed."""
        rows = self._rows.setdefault(table, [])
        rows.append(row)
        self._counts[table] += count
        if table == "replicas" and not row["agree"]:
            self._counts["differing"] += count
        if len(rows) > 4 * MOST_ROWS:
            self._rows[table] = self._first(table)

    def add(self, table: str, key: str, values: Mapping[str, int]) -> None:
        """Add values to the sums under a key, which is a JSON list."""
        self._sums.setdefault((table, key), Counter()).update(values)

    def take_unit(self, row: Row) -> None:
        """Add a row of RESULT."""
        found = Counter(_PLURALS[f["severity"]] for f in row["findings"])
        if not row["segments"] and not found:
            return
        place = {name: row[name] for name in PLACE[1:]} | {"cluster": row["cluster_id"]}
        measures = {name: row[name] for name in SIZES} | dict.fromkeys(_PLURALS.values(), 0) | found
        for table in ("brokers", "topics"):
            key = json.dumps([place[name] for name in _SUMMED[table]])
            self.add(table, key, measures | {"partitions": int(row["segments"] > 0)})
        self.take("partitions", place | measures)
        for table in ("warm_sections", "stalled_retention"):
            for one in row[table]:
                self.take(table, place | one)
        self._take_rules(row["findings"])

    def take_fleet_finding(self, row: Row) -> None:
        """Add a finding that is in no row of RESULT: a row of PLACED_FINDINGS."""
        for table in ("brokers", "topics"):
            key = json.dumps([row[name] for name in _SUMMED[table]])
            self.add(table, key, {_PLURALS[row["severity"]]: 1})
        self._take_rules([row])

    def _take_rules(self, findings: list[Row]) -> None:
        files: dict[str, set[str]] = {}
        for finding in findings:
            key = json.dumps([finding[name] for name in _SUMMED["rules"]])
            files.setdefault(key, set()).add(finding["file"])
            self.add("rules", key, {"findings": 1})
        for key, names in files.items():
            self.add("rules", key, {"files": len(names), "partitions": 1})

    def parts(self) -> Iterator[Row]:
        """The summary as rows of _PART, to be merged."""
        for (table, key), values in self._sums.items():
            yield {"table": table, "key": key, "row": json.dumps(values)}
        for table in self._rows:
            for row in self._first(table):
                yield {"table": table, "key": None, "row": json.dumps(row)}
        yield {"table": _COUNTED, "key": None, "row": json.dumps(self._counts)}

    def merge(self, part: Row) -> None:
        """Add a row of another summary's parts."""
        row = json.loads(part["row"])
        if part["table"] == _COUNTED:
            self._counts.update(row)
        elif part["key"] is None:
            self.take(part["table"], row, count=0)
        else:
            self.add(part["table"], part["key"], row)

    def tables(self) -> dict[str, list[Row]]:
        """The rows of every table, in order."""
        found: dict[str, list[Row]] = {name: [] for name in (*_SUMMED, *_WORST)}
        for (table, key), values in self._sums.items():
            named = dict(zip(_SUMMED[table], json.loads(key), strict=True))
            found[table].append(named | (self._rule(named, values) if table == "rules" else self._measures(values)))
        found["brokers"].sort(key=lambda row: str(row["broker"]))
        found["topics"].sort(key=_severity_first)
        found["rules"].sort(key=lambda row: (row["rule"], row["severity"]))
        return found | {table: self._first(table) for table in self._rows}

    def counts(self) -> dict[str, int]:
        """How many rows each table has, and how many `differing` ones `replicas` has."""
        counted = {name: self._counts[name] or len(rows) for name, rows in self.tables().items()}
        return counted | {"differing": self._counts["differing"]}

    def _measures(self, values: Counter[str]) -> Row:
        names = ("partitions", *SIZES, *_PLURALS.values())
        entries = values["index_entries"]
        density = round(values["log_bytes"] / entries) if entries else None
        return {name: values[name] for name in names} | {"log_bytes_per_entry": density}

    def _rule(self, named: Row, values: Counter[str]) -> Row:
        return {"name": RULES[named["rule"]].name} | {n: values[n] for n in ("findings", "files", "partitions")}

    def _first(self, table: str) -> list[Row]:
        order = _WORST[table]
        return heapq.nsmallest(
            MOST_ROWS, self._rows[table], key=lambda row: (*order(row), json.dumps(row, default=str))
        )


class _Part(TaskFunction):
    """Sums up the rows of a task, each taken by the method of that name, or as a row of the table of that name."""

    def __init__(self, what: str) -> None:
        super().__init__(_PART)
        self.what = what

    def rows(self, sent: Iterator[Row]) -> Iterator[Row]:
        summary = Summary()
        take = getattr(summary, self.what, None) or (lambda row: summary.take(self.what, row))
        for row in sent:
            take(row)
        return summary.parts()


def summarize(results: DataFrame, fleet_findings: DataFrame, tables: Mapping[str, DataFrame]) -> Summary:
    """The summary of a fleet, from rows of RESULT, findings that are not in them, and tables. Runs as one Spark job."""
    frames = [map_rows(results, _Part("take_unit")), map_rows(fleet_findings, _Part("take_fleet_finding"))]
    frames += [map_rows(frame, _Part(name)) for name, frame in tables.items()]
    parts = reduce(lambda one, other: one.unionByName(other), frames)
    summary = Summary()
    for part in map_rows(parts.coalesce(1), _Part("merge")).toArrow().to_pylist():
        summary.merge(part)
    return summary
