"""What a scan has to check, found by listing alone, in tasks: a row for each unit, with its size and its state.

A unit is what one call of check_target checks: a directory, or some files of one. The driver lists only so far down
that there are directories enough to share out; tasks list what is below them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kidx import __version__
from kidx.checks.engine.options import Options
from kidx.checks.engine.targets import Target, targets_of
from kidx.checks.subjects.log_dirs import LogDirs
from kidx.errors import CannotRead, KidxError
from kidx.evidence import Entry, absolute, exists, is_directory, is_uri, list_directory
from kidx.logdir.log_dir import CLEANED_TO, META_PROPERTIES, RECOVERY_POINTS
from kidx.logdir.names import parse_file_name
from kidx.logdir.tree import Listing, Partition, walk_tree
from kidx.pipeline.frames import TaskFunction, frame_of, from_arrow_text, kept, map_rows, parallelism, to_arrow_text
from kidx.pipeline.places import place_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COST_PER_FILE_BYTES = 64 << 10  # opening and decoding a small file costs about as much as reading this many bytes
_TASKS_A_CORE = 4
# Directories to find on the driver before tasks take over. A store lists a whole tree with a request per 1,000 names,
# but each directory by itself with a request of its own.
_ENOUGH, _ENOUGH_REMOTE = 64, 2

Row = dict[str, Any]
_TOTALS = ("count", "bytes", "files")
_DIRECTORY = pa.schema([("root", pa.int32()), ("path", pa.string()), ("given", pa.string()), ("deep", pa.bool_())])
UNIT = pa.schema(
    [
        ("root", pa.int32()),  # the number of the path that it was found below
        ("key", pa.string()),  # its name from one scan to the next
        ("directory", pa.string()),  # as given, joined with the path below
        ("path", pa.string()),  # absolute: executors have other working directories
        ("names", pa.string()),  # JSON of Target.names, each path as given and absolute; null for a whole directory
        ("mark", pa.string()),  # a digest of everything that the result depends on
        ("broker", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("log_dir", pa.bool_()),  # whether it has a file that only log dirs have
        ("bytes", pa.int64()),
        ("files", pa.int64()),
        ("cost", pa.int64()),  # bytes, plus COST_PER_FILE_BYTES for each file
        ("listing", pa.string()),  # of a directory in a store, JSON: [name, size, mtime_ns, is_dir] of each entry
        ("unlisted", pa.string()),  # why it could not be listed; null otherwise
    ]
)


class Inventory(NamedTuple):
    """What was found: `units` as rows of UNIT with `compared` (whether another directory has a partition of the same
    name), their number and sums, and the directories given, absolute and as given.
    """

    units: DataFrame
    number: int
    bytes: int
    files: int
    roots: list[tuple[str, str]]


def list_units(spark: SparkSession, paths: Iterable[str], options: Options) -> Inventory:
    """The units that paths stand for, each once. The listing is kept with the session."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    roots, lone = _by_kind(paths)
    found = kept(_shared_out(spark, roots, options) if roots else frame_of(spark, [], UNIT))
    by_root = _sums_by_root(found)
    filled = {row["root"] for row in by_root}
    if _overlapping(roots):
        first = f.row_number().over(Window.partitionBy("key").orderBy("root"))
        found = found.withColumn("first", first).where("first = 1").drop("first")
        by_root = _sums_by_root(found)
    more = [unit_row(n, Target(given), options, LogDirs()) for n, given in enumerate(roots) if n not in filled]
    more += _lone_units(lone, options, found if roots else None)
    if more:
        found = found.unionByName(frame_of(spark, more, UNIT))
    by_name = Window.partitionBy(f.coalesce("topic", "key"), "partition")
    shared = f.count(f.lit(1)).over(by_name) > 1
    compared = f.col("topic").isNotNull() & f.col("names").isNull() & shared
    mark = f.concat("mark", f.when(compared, "-shared").otherwise("-alone"))
    units = found.withColumn("mark", mark).withColumn("compared", compared)
    totals = [sum(row[name] for row in by_root) + sum(row.get(name, 1) for row in more) for name in _TOTALS]
    return Inventory(units, totals[0], totals[1], totals[2], [(absolute(p), p) for p in roots])


def _sums_by_root(units: DataFrame) -> list[Row]:
    from pyspark.sql import functions as f

    sums = (f.sum(name).alias(name) for name in ("bytes", "files"))
    rows: list[Row] = units.groupBy("root").agg(f.count(f.lit(1)).alias("count"), *sums).toArrow().to_pylist()
    return rows


def _by_kind(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """The paths that are directories, each once, and the others."""
    roots: dict[str, str] = {}
    lone = []
    for path in paths:
        try:
            whole = is_directory(path)
        except CannotRead:
            whole = False  # opening it will say what is wrong
        if whole:
            roots.setdefault(absolute(path), path)
        else:
            lone.append(path)
    return list(roots.values()), lone


def _overlapping(roots: Sequence[str]) -> bool:
    ordered = sorted(absolute(root) + "/" for root in roots)
    return any(later.startswith(earlier) for earlier, later in pairwise(ordered))


def _lone_units(lone: Sequence[str], options: Options, found: DataFrame | None) -> list[Row]:
    """Units of files asked for one by one, without those that a directory covers."""
    from pyspark.sql import functions as f

    targets = [target for target in targets_of(lone) if isinstance(target, Target)]
    covered: set[str] = set()
    if found is not None and targets:
        asked = [to_arrow_text(absolute(target.directory)) for target in targets]
        covered = {row.path for row in found.where(f.col("path").isin(asked)).select("path").collect()}
    log_dirs, rows = LogDirs(), []
    for target in targets:
        if to_arrow_text(absolute(target.directory)) in covered:
            odd = {n: p for n, p in (target.names or {}).items() if not exists(p) or parse_file_name(n) is None}
            target = target._replace(names=odd)
        if target.names != {}:
            rows.append(unit_row(-1, target, options, log_dirs))
    return rows


def _shared_out(spark: SparkSession, roots: Sequence[str], options: Options) -> DataFrame:
    """The units below directories, listed by tasks."""
    rows = [row for number, root in enumerate(roots) for row in _frontier(number, root, len(roots))]
    tasks = min(len(rows), _TASKS_A_CORE * parallelism(spark))
    return map_rows(frame_of(spark, rows, _DIRECTORY, tasks), ListUnits(options))


def _frontier(number: int, root: str, roots: int) -> Iterator[Row]:
    """The directories to list for a root: itself, or so many levels below that there are enough of them."""
    enough = _ENOUGH_REMOTE if is_uri(root) else _ENOUGH
    deep = [root]
    while deep and roots * len(deep) < enough:
        below: list[str] = []
        for directory in deep:
            try:
                names = [e.name for e in list_directory(directory) if e.is_dir(follow_symlinks=False)]
            except KidxError:
                names = []
            below += [os.path.join(directory, name) for name in names]
            yield _directory_row(number, directory, deep=False)
        deep = below
    for directory in deep:
        yield _directory_row(number, directory, deep=True)


def _directory_row(number: int, directory: str, *, deep: bool) -> Row:
    path = to_arrow_text(absolute(directory))
    return {"root": number, "path": path, "given": to_arrow_text(directory), "deep": deep}


class ListUnits(TaskFunction):
    """The function of the listing's tasks: directories in, units out."""

    def __init__(self, options: Options) -> None:
        super().__init__(UNIT)
        self.options = options
        self.moment_ns = time.time_ns()  # Spark would answer an equal plan from the rows kept of an earlier listing

    def rows(self, sent: Iterator[Row]) -> Iterator[Row]:
        log_dirs = LogDirs()
        for row in sent:
            path, given = from_arrow_text(row["path"]), from_arrow_text(row["given"])
            for found in _walk(path) if row["deep"] else _alone(path):
                if isinstance(found, CannotRead):
                    yield _unlisted(row["root"], str(found).replace(path, given, 1))
                elif any(parse_file_name(entry.name) for entry in found.entries):
                    below = found.directory[len(path) :].lstrip("/")
                    target = Target(os.path.join(given, below) if below else given)
                    yield unit_row(row["root"], target, self.options, log_dirs, found.directory, found.entries)


def _walk(path: str) -> Iterator[Listing | CannotRead]:
    """As walk_tree. A store lists everything below a directory with a request per 1,000 names."""
    if not is_uri(path):
        yield from walk_tree(path)
        return
    from kidx.evidence.remote import known_listings, list_tree

    try:
        tree = list_tree(path)
    except CannotRead as e:
        yield e
        return
    with known_listings(tree):
        for directory, entries in sorted(tree.items()):
            yield Listing(directory, entries)


def _alone(path: str) -> Iterator[Listing | CannotRead]:
    try:
        yield Listing(path, list_directory(path))
    except CannotRead as e:
        yield e


def _unlisted(root: int, sentence: str) -> Row:
    text = to_arrow_text(sentence)
    return dict.fromkeys(UNIT.names) | {
        "root": root,
        "key": text,
        "mark": _never_again(sentence),
        "log_dir": False,
        **dict.fromkeys(("bytes", "files", "cost"), 0),
        "unlisted": text,
    }


def unit_row(
    root: int,
    target: Target,
    options: Options,
    log_dirs: LogDirs,
    path: str | None = None,
    entries: Sequence[Entry] | None = None,
) -> Row:
    """A target as a row of UNIT. `path` is its absolute directory and `entries` its listing, if they are known."""
    path = absolute(target.directory) if path is None else path
    size = files = 0
    listing, log_dir = [], False
    try:
        entries = list_directory(path) if entries is None else entries
        for entry in entries:
            if parse_file_name(entry.name) is None:
                continue
            log_dir = log_dir or entry.name in (META_PROPERTIES, RECOVERY_POINTS)
            status = entry.stat()
            listing.append(f"{entry.name} {status.st_size} {status.st_mtime_ns}")
            if target.names is None or entry.name in target.names:
                size += status.st_size
                files += 1
        state = [__version__, _options_text(options), path, str(target.names), _log_dir_state(path, log_dirs)]
        mark = sha256("\n".join([*state, *listing]).encode("utf-8", "surrogateescape")).hexdigest()
    except (KidxError, OSError) as e:  # checking it reports what is wrong
        mark = _never_again(str(e))
    place = place_of(path)
    names = None if target.names is None else {n: [p, absolute(p)] for n, p in target.names.items()}
    key = path if target.names is None else "\0".join([path, *sorted(target.names.values())])
    return {
        "root": root,
        "key": to_arrow_text(key),
        "directory": to_arrow_text(target.directory),
        "path": to_arrow_text(path),
        "names": None if names is None else json.dumps(names),
        "mark": mark,
        "broker": to_arrow_text(place.broker),
        "topic": place.topic and to_arrow_text(place.topic),
        "partition": place.partition,
        "log_dir": log_dir and target.names is None,
        "bytes": size,
        "files": files,
        "cost": size + files * COST_PER_FILE_BYTES,
        "listing": _as_json(entries or ()) if is_uri(path) else None,
        "unlisted": None,
    }


def _as_json(entries: Sequence[Entry]) -> str:
    facts = ((entry.name, entry.stat(), entry.is_dir(follow_symlinks=False)) for entry in entries)
    return json.dumps([(name, status.st_size, status.st_mtime_ns, is_dir) for name, status, is_dir in facts])


def _never_again(text: str) -> str:
    """A mark that no other unit and no other scan has."""
    return sha256(f"{text}{os.urandom(8).hex()}".encode("utf-8", "surrogateescape")).hexdigest()


def _options_text(options: Options) -> str:
    rules = None if options.rules is None else sorted(options.rules)
    return repr(options._asdict() | {"rules": rules})


def _log_dir_state(path: str, log_dirs: LogDirs) -> str:
    """What the result for a partition depends on in its log dir, as text.

    Brokers rewrite their checkpoints every minute, so their times and sizes say nothing. What counts is whose the log
    dir is, whether the broker stopped cleanly, and whether the cleaner's checkpoint has the partition.
    """
    partition = Partition(path, [])
    witness = log_dirs.witness_of(partition)
    if witness is None or partition.name is None:
        return "None"
    log_dir = witness.log_dir
    cleaned = partition.name[:2] in log_dir.checkpoint(CLEANED_TO).offsets
    return f"{log_dir.identity.cluster_id} {log_dir.clean_shutdown is not None} {cleaned}"
