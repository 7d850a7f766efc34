"""What runs inside a Spark task: the functions of `kidx verify`, on units, giving Arrow batches of results.

Rows are few and small, for computing happens here: entries and batches never pass through the JVM.
"""

from __future__ import annotations

import json
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
from kidx.logdir.tree import Partition
from kidx.pipeline.facts import segment_facts
from kidx.pipeline.groups import contents_of
from kidx.pipeline.inventory import Unit
from kidx.pipeline.replicas import bucket_sums
from kidx.pipeline.results import Row, shield, to_batch, to_row, unshield

_ROWS_A_BATCH = 256
TASK = pa.schema(
    [
        ("group", pa.int32()),
        ("directory", pa.string()),
        ("absolute", pa.string()),  # an executor's own working directory is some other place
        ("names", pa.string()),  # JSON of Target.names, each path as it was given and absolute
        ("key", pa.string()),
        ("mark", pa.string()),
        ("compared", pa.bool_()),  # whether another broker has this partition, too
    ]
)


def task_row(unit: Unit, group: int) -> Row:
    """A unit as a task is sent it."""
    return {
        "group": group,
        "directory": shield(unit.target.directory),
        "absolute": shield(absolute(unit.target.directory)),
        "names": json.dumps(unit.target.names and {n: [p, absolute(p)] for n, p in unit.target.names.items()}),
        "key": shield(unit.key),
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
    """Check one unit. Nothing that a file holds, and no fault of kidx's own, may end the job for all others."""
    directory, names = unshield(sent["absolute"]), json.loads(sent["names"])
    told = [(directory, unshield(sent["directory"]))]
    if names is not None:
        told = [(there, given) for given, there in names.values()] + told
        names = {name: there for name, (_, there) in names.items()}
    row = _checked(Target(directory, names), sent, options)
    return {name: value if name == "key" else _as_given(value, told) for name, value in row.items()}


def _checked(target: Target, sent: dict[str, Any], options: Options) -> Row:
    key, mark = unshield(sent["key"]), sent["mark"]
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


def _as_given(value: Any, told: list[tuple[str, str]]) -> Any:
    """A value with the absolute paths in its texts as the user gave them."""
    if isinstance(value, str):
        for there, given in told:
            if there != given:
                value = value.replace(there, given) if given else value.replace(f"{there}/", "")
        return value
    if isinstance(value, list):
        return [_as_given(item, told) for item in value]
    if isinstance(value, dict):
        return {name: _as_given(item, told) for name, item in value.items()}
    return value


def not_checked(directory: str, why: str) -> CheckResult:
    """The result of a unit that could not be checked at all."""
    return unreadable(f"{directory}: nothing in it was checked: {why}")
