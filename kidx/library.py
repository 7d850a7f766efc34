"""What `import kidx` offers: opening files and directories, and verifying them.

The command line and the Spark pipeline use the same packages as these functions. Paths may be URIs (s3://bucket/key)
where a function reads single files. Every function raises UsageError for a path whose name does not show what it is,
CannotRead for one that cannot be read; both are KidxError. Damage never raises.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kidx.errors import UsageError
from kidx.evidence import open_evidence
from kidx.logdir.names import LOG, base_offset_of, index_format_of, parse_file_name

if TYPE_CHECKING:
    from kidx.checks.engine.result import CheckResult
    from kidx.logdir.cluster import Cluster
    from kidx.logdir.log_dir import LogDir
    from kidx.lookup.index import IndexReader
    from kidx.lookup.partition import PartitionReader
    from kidx.lookup.segment import SegmentReader


def open_index(path: str, *, kind: str | None = None, base_offset: int | None = None) -> IndexReader:
    """An offset, time or transaction index, opened for look-ups and as an array. A context manager.

    `kind` (offset_index, time_index, transaction_index) and `base_offset` are for files whose name does not give them.
    """
    from kidx.lookup.index import IndexReader

    index_format = index_format_of(path, kind)
    base = base_offset_of(path, base_offset) if index_format.relative else base_offset or 0
    return IndexReader(open_evidence(path), index_format, base)


def open_segment(path: str, *, base_offset: int | None = None) -> SegmentReader:
    """A segment by its .log file, opened with the indexes next to it: batches, records, look-ups. A context manager."""
    from kidx.lookup.segment import SegmentReader, segment_of

    name = parse_file_name(path)
    if name is None or name.kind != LOG:
        raise UsageError(f"{path}: not a segment by its name; a segment's log ends in .log")
    return SegmentReader(segment_of(path, name, base_offset_of(path, base_offset)))


def open_partition(directory: str) -> PartitionReader:
    """A partition's directory as a consumer sees it: bounds, reads, offsets by time, records.

    No file stays open between calls. Raises CannotRead for a directory without segments.
    """
    from kidx.logdir.tree import Partition
    from kidx.lookup.partition import PartitionReader

    return PartitionReader(Partition(directory))


def open_log_dir(directory: str) -> LogDir:
    """A broker's log dir: its identity, entries, checkpoints and partitions. No file stays open."""
    from kidx.logdir.log_dir import LogDir

    return LogDir(directory)


def open_cluster(*directories: str) -> Cluster:
    """The cluster of some log dirs: topics by id, settings and assignments, if its metadata log is available."""
    from kidx.state.metadata import cluster_of

    return cluster_of(directories)


def verify(
    *paths: str,
    level: str = "default",
    rules: Iterable[str] | None = None,
    sample: str | None = None,
    live: bool = False,
    kind: str | None = None,
    base_offset: int | None = None,
    jobs: int = 1,
) -> CheckResult:
    """Check files, partitions, log dirs or trees, as `kidx verify` does.

    `level` is quick (no log is read), default (every batch's header and CRC) or deep (every record). `rules` are the
    codes, names or prefixes to report, None for all. `sample` is a share of the logs, "10%" or "3/8". `live`: a broker
    may be writing. `jobs` processes share the work; more than one forks.

    The result has `findings` (Finding, sorted by file, position and rule), `coverage` (what was checked and skipped)
    and `unread` (a sentence for each file that could not be read). Without findings, only what `coverage` lists is
    clean. Raises UsageError for an unknown rule or an impossible option.
    """
    from kidx.checks.catalogue import RULES
    from kidx.checks.engine.options import DEEP, DEFAULT, QUICK, Options, Sample
    from kidx.checks.engine.run import check_all
    from kidx.checks.engine.targets import targets_of
    from kidx.findings import codes_of

    if level not in (QUICK, DEFAULT, DEEP):
        raise UsageError(f"level {level!r}: {QUICK}, {DEFAULT} and {DEEP} are known")
    wanted = None if rules is None else frozenset(codes_of(list(rules), RULES))
    share = None if sample is None else Sample.parse(sample)
    options = Options(base_offset, live, level, share, jobs, wanted, kind)
    return check_all(targets_of(paths), options)
