"""The function that runs in Spark tasks: it checks units as `kidx verify` does, and returns results as Arrow batches.

Index entries and batches never pass through the JVM; only results do, which are few and small.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from kidx.checks.engine.options import Options
from kidx.checks.engine.partition import check_target
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.run import unreadable
from kidx.checks.engine.targets import Target
from kidx.errors import KidxError
from kidx.evidence import absolute, list_directory
from kidx.formats.compression import inflation_budget
from kidx.logdir.tree import Partition
from kidx.pipeline.consumer_groups import contents_of
from kidx.pipeline.inventory import Unit
from kidx.pipeline.replicas import bucket_sums
from kidx.pipeline.results import Row, from_arrow_text, to_arrow_text, to_batch, to_row
from kidx.pipeline.segment_facts import segment_facts

_ROWS_A_BATCH = 256
TASK = pa.schema(
    [
        ("group", pa.int32()),
        ("directory", pa.string()),
        ("absolute", pa.string()),  # an executor has another working directory
        ("names", pa.string()),  # JSON of Target.names, each path as given and absolute
        ("key", pa.string()),
        ("mark", pa.string()),
        ("compared", pa.bool_()),  # whether another broker has this partition too
    ]
)


def task_row(unit: Unit, group: int) -> Row:
    """A unit as a row of TASK."""
    return {
        "group": group,
        "directory": to_arrow_text(unit.target.directory),
        "absolute": to_arrow_text(absolute(unit.target.directory)),
        "names": json.dumps(unit.target.names and {n: [p, absolute(p)] for n, p in unit.target.names.items()}),
        "key": to_arrow_text(unit.key),
        "mark": unit.mark,
        "compared": unit.replicas > 1,
    }


class CheckUnits:
    """The function for mapInArrow: batches of TASK in, batches of RESULT out. Picklable."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: list[Row] = []
        for batch in batches:
            for sent in batch.to_pylist():
                rows.append(check_unit(sent, self.options))
                if len(rows) >= _ROWS_A_BATCH:
                    yield to_batch(rows)
                    rows = []
        if rows:
            yield to_batch(rows)


def check_unit(sent: dict[str, Any], options: Options) -> Row:
    """Check one unit. Neither the contents of a file nor a bug of kidx may end the job for the other units."""
    directory, names = from_arrow_text(sent["absolute"]), json.loads(sent["names"])
    given_as = from_arrow_text(sent["directory"])
    paths = [(directory, given_as)]
    if given_as not in ("", ".") and "/" in given_as.strip("/"):  # the log dir, whose checkpoint a finding may name
        paths.append((os.path.dirname(directory), os.path.dirname(given_as)))
    if names is not None:
        paths = [(there, given) for given, there in names.values()] + paths
        names = {name: there for name, (_, there) in names.items()}
    with inflation_budget(options.max_inflate_bytes):  # a unit's: executors share none
        row = _checked(Target(directory, names), sent, options)
    return {name: value if name == "key" else _as_given(value, paths) for name, value in row.items()}


def _checked(target: Target, sent: dict[str, Any], options: Options) -> Row:
    key, mark = from_arrow_text(sent["key"]), sent["mark"]
    try:
        checked = check_target(target, options)
        if target.names is not None:
            return to_row(key, mark, checked)
        partition = Partition(target.directory, list_directory(target.directory))
        sums = bucket_sums(partition) if sent["compared"] else ()
        return to_row(key, mark, checked, segment_facts(partition), sums, contents_of(partition))
    except KidxError as e:
        return to_row(key, mark, unreadable(str(e)))
    except Exception as e:
        return to_row(key, mark, not_checked(target.directory, f"a bug in kidx itself: {type(e).__name__}: {e}"))


def _as_given(value: Any, paths: list[tuple[str, str]]) -> Any:
    """A value with the absolute paths in its texts replaced by those that the user gave."""
    if isinstance(value, str):
        for there, given in paths:
            if there != given:
                value = value.replace(there, given) if given else value.replace(f"{there}/", "")
        return value
    if isinstance(value, list):
        return [_as_given(item, paths) for item in value]
    if isinstance(value, dict):
        return {name: _as_given(item, paths) for name, item in value.items()}
    return value


def not_checked(directory: str, why: str) -> CheckResult:
    """The result of a unit that could not be checked at all."""
    return unreadable(f"{directory}: nothing in it was checked: {why}")
