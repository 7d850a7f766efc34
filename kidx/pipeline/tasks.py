"""What runs inside a Spark task: the functions of `kidx verify`, on units, giving Arrow batches of results.

Rows are few and small, for computing happens here: entries and batches never pass through the JVM.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from kidx.checks.options import Options
from kidx.checks.partition import Checked, check_target
from kidx.checks.run import unreadable
from kidx.checks.targets import Target
from kidx.errors import KidxError
from kidx.evidence import list_directory
from kidx.logdir.tree import Partition
from kidx.pipeline.facts import segment_facts
from kidx.pipeline.inventory import Unit
from kidx.pipeline.replicas import bucket_sums
from kidx.pipeline.results import Row, shield, to_batch, to_row, unshield

_ROWS_A_BATCH = 256
TASK = pa.schema(
    [
        ("group", pa.int32()),
        ("directory", pa.string()),
        ("names", pa.string()),  # JSON of Target.names
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
        "names": json.dumps(unit.target.names),
        "key": shield(unit.key),
        "mark": unit.mark,
        "compared": unit.replicas > 1,
    }


class CheckUnits:
    """The function for mapInArrow: batches of TASK in, batches of RESULT out. Picklable.

    Relative paths mean what they mean on the driver: an executor's own working directory is some other place.
    """

    def __init__(self, options: Options) -> None:
        self.options, self.directory = options, os.getcwd()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with suppress(OSError):  # where it is missing, relative paths cannot be read, and the checks say so
            os.chdir(self.directory)
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
    target = Target(unshield(sent["directory"]), json.loads(sent["names"]))
    key, mark = unshield(sent["key"]), sent["mark"]
    try:
        checked = check_target(target, options)
        if target.names is not None:
            return to_row(key, mark, checked)
        partition = Partition(target.directory, list_directory(target.directory or "."))
        sums = bucket_sums(partition) if sent["compared"] else ()
        return to_row(key, mark, checked, segment_facts(partition), sums)
    except KidxError as e:
        return to_row(key, mark, unreadable(str(e)))
    except Exception as e:
        return to_row(key, mark, not_checked(target.directory, f"a bug in kidx itself: {type(e).__name__}: {e}"))


def not_checked(directory: str, why: str) -> Checked:
    """The result of a unit that could not be checked at all."""
    return unreadable(f"{directory}: nothing in it was checked: {why}")
