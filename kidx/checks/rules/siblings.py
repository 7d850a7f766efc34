"""Which files a segment or partition lacks, and which have no segment.

From names, the size of a log without an index, and what the other partitions of the log dir have.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kidx.checks.rule import check
from kidx.checks.subjects.log_dirs import JudgedLogDir, Witness
from kidx.checks.subjects.partitions import Listing
from kidx.checks.texts import CONFIRM_BY_REBUILD, REBUILD
from kidx.errors import CannotRead
from kidx.evidence import exists
from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule
from kidx.logdir.log_dir import METADATA_TOPIC, partition_identity
from kidx.logdir.names import LOG, OFFSET, SEGMENT_SUFFIX, TIME, TRANSACTION
from kidx.logdir.tree import DataFile, Partition, Segment
from kidx.text.quantities import counted

ORPHAN_FILE = Rule(
    code="KX501",
    name="orphan-file",
    severity=WARNING,
    title="An index has no log, although other segments have one",
    broker='Every version deletes an index without a log when it loads the directory ("Found an orphaned index file").',
    story=(
        "The .log of this base offset is missing: deleted by hand, not copied, or the index was left behind by an "
        "interrupted deletion. If neighbouring segments leave a gap in offsets where it was (KX503), data is missing; "
        "if they do not, the file is a left-over. If the last segment's log is missing, the log's end falls to the end "
        "of the segment before it (seen with 3.9 and 4.3), and new records get its offsets."
    ),
)

MISSING_INDEX = Rule(
    code="KX502",
    name="missing-index",
    severity=WARNING,
    title="A log has no offset index or no time index",
    broker=(
        'Without an offset index a broker recovers the segment at start ("Could not find offset index file"): it reads '
        "the whole log and rebuilds its indexes. A missing time index is created empty and not rebuilt: look-ups by "
        "time then scan the segment from its start, and retention goes by the file's modification time."
    ),
    story=(
        "Every segment has both, even if empty; only brokers before 0.10 have no time indexes. A missing one was "
        "deleted or not copied. kidx verify never creates it. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

INTERRUPTED_SWAP = Rule(
    code="KX504",
    name="interrupted-swap",
    severity=NOTE,
    title="Files of an unfinished compaction or split lie in the directory",
    broker=(
        "At the next start every version deletes .cleaned files (and .swap files at or after the first of them), "
        "deletes the segments that complete .swap files replace, and renames these to segments."
    ),
    story=(
        "The cleaner writes .cleaned files, renames them to .swap once all are complete, then removes the old segments "
        "and drops the suffix. Such files in a stopped broker's directory show where it was interrupted; in a running "
        "broker's they come and go. A .swap log wins over the segments that it replaces, even a torn or foreign one "
        "(seen with 4.3): if one was put there by hand, move it away before the broker starts."
    ),
)

LOGS_MISSING = Rule(
    code="KX506",
    name="logs-missing",
    severity=ERROR,
    title="A partition has none of its logs, although others in the log dir have theirs",
    broker=(
        "Brokers of 2.8 to 4.3 make an empty log at offset 0, delete the indexes left behind and serve no record, "
        "without an error. With other replicas the partition is fetched again, unless this one is elected leader: then "
        "the others truncate to 0."
    ),
    story=(
        "The .log files hold the records; indexes and snapshots cannot bring them back. They were deleted, or not "
        "copied (rsync or tar with a filter). Restore them from a copy or let the replica fetch the partition again "
        "before the broker starts; otherwise it makes an empty log and deletes what is left."
    ),
    repair="before this broker starts, restore the .log files or have it fetch the partition from another replica",
)

PARTITION_METADATA_MISSING = Rule(
    code="KX507",
    name="partition-metadata-missing",
    severity=ERROR,
    title="partition.metadata is missing, although other partitions have it",
    broker=(
        "Brokers of 3.9 to 4.3 with KRaft rename the directory to ...-stray and serve an empty partition. 3.5 with "
        "KRaft, and brokers with ZooKeeper since 2.8, serve it and write the file again."
    ),
    story=(
        "The file names the topic's id (KIP-516). Without it a KRaft broker takes the directory for that of a deleted "
        "topic. Write it before the broker starts: `version: 0` and `topic_id: ID`, with the ID that other partitions "
        "of the topic or __cluster_metadata have."
    ),
    repair="write partition.metadata (`version: 0` and `topic_id: ID`) before this broker starts",
)

SEGMENT_NAME = Rule(
    code="KX508",
    name="segment-name",
    severity=ERROR,
    title="A file with a segment's suffix has no base offset of 20 digits in its name",
    broker=(
        "Brokers of 3.9 to 4.3 read 11.log as a segment of base offset 11, make an empty file with the proper name, "
        "and the records are no longer visible. A name that is no number (segment.log) keeps them from starting "
        "(NumberFormatException)."
    ),
    story=(
        "A broker names a segment's files by its first offset, in 20 digits. This one was renamed or put there by "
        "hand. Rename it to what its first batch says (`kidx dump`), or move it out of the directory, before the "
        "broker starts."
    ),
    repair="rename the file, or move it out of the directory, while the broker is stopped",
)

_INDEXES = (OFFSET, TIME, TRANSACTION)
_METADATA = "partition_metadata"
_MAGIC_AT = 16


@check(Listing, ORPHAN_FILE)
def orphan_file(listing: Listing) -> Iterator[Finding]:
    """Indexes of living segments without a log; where no segment has a log, indexes were copied on purpose."""
    if not listing.partition.segments:
        return
    for segment in listing.partition.all_segments:
        if segment.state or LOG in segment.files:
            continue
        for kind in _INDEXES:
            orphan = segment.file(kind)
            if orphan and not (listing.live and _in_passing(orphan.path, LOG)):
                text = "there is no .log next to this index"
                yield ORPHAN_FILE.finding(orphan.path, text, expected=SEGMENT_SUFFIX[LOG])


@check(Listing, MISSING_INDEX)
def missing_index(listing: Listing) -> Iterator[Finding]:
    """Living logs without an offset or time index.

    Where no segment and no other partition of the log dir has an index, logs were copied on purpose.
    """
    partition, segments = listing.partition, listing.partition.segments
    if not segments or all(OFFSET in s.files and TIME in s.files for s in segments):
        return
    has_some = any(kind in s.files for s in partition.all_segments if not s.state for kind in _INDEXES)
    expected = [kind for kind in (OFFSET, TIME) if has_some or _others_have(listing, kind)]
    if TIME in expected and not any(TIME in s.files for s in segments) and not _others_have(listing, TIME):
        expected = expected if _first_magic(segments) else [OFFSET]  # brokers before 0.10 have no time indexes
    for segment in segments:
        log = segment.files[LOG]
        for kind in expected:
            if kind in segment.files or _is_made_later(partition, log):
                continue
            if not (listing.live and _in_passing(log.path, kind)):
                text = f"there is no {SEGMENT_SUFFIX[kind]} next to this log"
                yield MISSING_INDEX.finding(log.path, text, expected=SEGMENT_SUFFIX[kind])


@check(Listing, INTERRUPTED_SWAP)
def interrupted_swap(listing: Listing) -> Iterator[Finding]:
    """Segments that a compaction or split has written and not put in place."""
    for segment in listing.partition.all_segments:
        if segment.state in (".cleaned", ".swap"):
            file = next(iter(segment.files.values()))
            text = f"an unfinished compaction or split left {segment.state} files"
            yield INTERRUPTED_SWAP.finding(file.path, text, found=segment.state)


def _others_have(listing: Listing, kind: str) -> bool:
    return listing.log_dir is not None and listing.log_dir.others_have(listing.partition, kind)


def _first_magic(segments: Sequence[Segment]) -> int:
    """The format of the messages in the first log that has one; 0 where none has."""
    for segment in segments:
        try:
            with segment.files[LOG].open() as log:
                if log.size > _MAGIC_AT:
                    return log.read(_MAGIC_AT, 1)[0]
        except CannotRead:
            continue
    return 0


def _is_living(listing: Listing) -> bool:
    """Whether the directory is a living partition of a log dir, and not KRaft's metadata."""
    name = listing.partition.name
    return listing.log_dir is not None and name is not None and not name.state and name.topic != METADATA_TOPIC


@check(Listing, LOGS_MISSING)
def logs_missing(listing: Listing) -> list[Finding] | None:
    """A partition without a log, where others have theirs."""
    partition = listing.partition
    if partition.segments or not _is_living(listing) or not _others_have(listing, LOG):
        return None
    if listing.live and (not exists(partition.directory) or Partition(partition.directory).segments):
        return None
    rest = len(partition.files)
    text = f"there is no .log in it, but {counted(rest, 'other file')}; other partitions of the log dir have logs"
    return [LOGS_MISSING.finding(partition.directory, text, expected=".log", found=rest)]


@check(JudgedLogDir, LOGS_MISSING)
def partition_emptied(judged: JudgedLogDir) -> Iterator[Finding]:
    """Partitions without any data file, where others have logs: nobody walks into them."""
    empty = [p for p in judged.partitions if not _files_of(p)]
    witness = Witness(judged.log_dir)
    for partition in empty:
        if witness.others_have(partition, LOG) and exists(partition.directory):
            text = "no data file is in it; other partitions of the log dir have logs"
            severity = NOTE if judged.live else None
            yield LOGS_MISSING.finding(partition.directory, text, expected=".log", found=0, severity=severity)


def _files_of(partition: Partition) -> Sequence[object]:
    try:
        return Partition(partition.directory).files
    except CannotRead as e:
        return [e]  # nothing is known about it


@check(Listing, PARTITION_METADATA_MISSING)
def partition_metadata_missing(listing: Listing) -> list[Finding] | None:
    """A partition with records and without partition.metadata, where others have theirs."""
    partition, log_dir = listing.partition, listing.log_dir
    if not partition.segments or any(file.kind == _METADATA for file in partition.files):
        return None
    if log_dir is None or not _is_living(listing) or not _others_have(listing, _METADATA):
        return None
    try:
        if not any(segment.files[LOG].size() for segment in partition.segments):
            return None  # the file is written with the first records
    except CannotRead:
        return None
    ids = (partition_identity(other).topic_id for other in log_dir.same_topic(partition))
    topic_id = next(filter(None, ids), None)
    text = "there is no partition.metadata here; other partitions of the log dir have one"
    if topic_id is not None:
        text += f"; the topic's id is {topic_id} in another partition of it"
    severity = WARNING if log_dir.log_dir.identity.version == 0 else ERROR
    return [
        PARTITION_METADATA_MISSING.finding(
            partition.directory, text, expected={"version": 0, "topic_id": topic_id}, severity=severity
        )
    ]


@check(Listing, SEGMENT_NAME)
def segment_name(listing: Listing) -> Iterator[Finding]:
    """Files with a segment's suffix and another name, in a living partition of a log dir."""
    for file in listing.partition.files if _is_living(listing) else ():
        stem, suffix = os.path.splitext(os.path.basename(file.path))
        if file.name.base_offset is not None or file.name.state or suffix not in SEGMENT_SUFFIX.values():
            continue
        if stem.isascii() and stem.isdigit():
            text = f"a broker takes {stem}{suffix} for a file of the segment at offset {int(stem)}"
        elif suffix == SEGMENT_SUFFIX[LOG]:
            text = f"{stem}{suffix} is named as no segment is: a broker does not start with it"
        else:
            continue
        yield SEGMENT_NAME.finding(file.path, f"{text}; segments' names have 20 digits", found=stem)


def _is_made_later(partition: Partition, log: DataFile) -> bool:
    """Whether a broker has yet to make the indexes: of a new, empty active segment it does so when it first uses them.

    So it is where retention has deleted all that a partition held (org.apache.kafka.storage.internals.log.LazyIndex).
    """
    try:
        return partition.segments[-1].files[LOG] is log and log.size() == 0
    except CannotRead:
        return False


def _in_passing(path: str, missing: str) -> bool:
    """Whether a segment was being made or deleted when the directory was listed: one file gone or the other there."""
    return not exists(path) or exists(os.path.splitext(path)[0] + SEGMENT_SUFFIX[missing])
