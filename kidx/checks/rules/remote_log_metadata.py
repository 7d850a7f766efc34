"""__remote_log_metadata against the objects of the tier: what was begun and not finished, what is missing or left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kidx.checks.rule import check
from kidx.checks.subjects.remote import ReconciledSegment
from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule
from kidx.formats.object_names import LOG
from kidx.state.remote_log import COPY_FINISHED, COPY_STARTED, DELETE_STARTED
from kidx.text.quantities import counted, iso_time, size_text

if TYPE_CHECKING:
    from kidx.tiered.metadata import ListedSegment
    from kidx.tiered.objects import RemoteCopy

COPY_UNFINISHED = Rule(
    code="KX711",
    name="remote-copy-unfinished",
    severity=WARNING,
    title="A copy to the tier was begun and never finished",
    broker=(
        "It is never an answer to a fetch, and brokers (3.9, 4.3) leave it and its objects as they are across "
        "restarts. They copy the segment again under another id. Kafka's store goes on listing it."
    ),
    story=(
        "A broker writes COPY_SEGMENT_STARTED, copies the objects, and writes COPY_SEGMENT_FINISHED. It died in "
        "between, or the copy is still under way (with --live a note). The objects take up space until retention "
        "reaches their offsets. If a later copy serves these offsets, they can be removed. Without objects: a note."
    ),
    repair="remove the segment's objects once a finished copy serves its offsets",
)

OBJECTS_MISSING = Rule(
    code="KX712",
    name="remote-objects-missing",
    severity=ERROR,
    title="A segment was copied to the tier, and its objects are not there",
    broker="A fetch of these offsets fails; consumers that start there do not get on.",
    story=(
        "COPY_SEGMENT_FINISHED is written after the last object. The objects were removed by hand or by a lifecycle "
        "rule of the bucket, or --remote names another tier or a part of it."
    ),
    repair="restore the objects from a backup or from the bucket's versions",
)

METADATA_DIFFERS = Rule(
    code="KX713",
    name="remote-metadata-differs",
    severity=ERROR,
    title="The metadata of a remote segment is not that of its objects",
    broker=(
        "The broker looks offsets and times up by the metadata, and counts its sizes for retention: reads end in the "
        "wrong place, or fail."
    ),
    story=(
        "COPY_SEGMENT_STARTED has the offsets, leader epochs, largest timestamp and size of the segment, "
        "COPY_SEGMENT_FINISHED what the plugin adds. Objects were overwritten or restored from elsewhere."
    ),
)

DELETE_UNFINISHED = Rule(
    code="KX714",
    name="remote-delete-unfinished",
    severity=WARNING,
    title="A deletion from the tier was begun and never finished",
    broker=(
        "The segment is not read any more. While the topic exists, the leader tries again with each run of the cleaner "
        "(4.3, by its source)."
    ),
    story=(
        "A broker writes DELETE_SEGMENT_STARTED, deletes the objects, and writes DELETE_SEGMENT_FINISHED. It died in "
        "between, or the store refuses the deletion. Without objects left only the record is missing: a note."
    ),
)

ORPHAN_OBJECTS = Rule(
    code="KX715",
    name="remote-orphan",
    severity=WARNING,
    title="Objects in the tier belong to no segment that the metadata lists",
    broker="No broker reads or removes them.",
    story=(
        "Every copy is announced in __remote_log_metadata before its first object. The metadata topic was lost or "
        "truncated, its retention is limited, or a deletion was recorded although the objects stayed. --remote may "
        "also name a tier that another cluster shares. Objects that only this finding is about can be removed, unless "
        "the metadata topic itself is to be rebuilt from them."
    ),
)

DELETED_TOPIC = Rule(
    code="KX716",
    name="remote-objects-of-deleted-topic",
    severity=WARNING,
    title="A topic was deleted, and objects of it remain in the tier",
    broker=(
        "After a kill during a topic's deletion nothing ever deletes its objects: no broker is responsible for them "
        "(3.9, 4.3)."
    ),
    story=(
        "The broker writes DELETE_SEGMENT_STARTED for all segments of the topic, deletes them one by one, and then "
        "writes DELETE_SEGMENT_FINISHED. A topic created again under the same name has another id."
    ),
    repair="remove the objects, after a look at the topic id",
)


@check(ReconciledSegment, COPY_UNFINISHED)
def copy_unfinished(segment: ReconciledSegment) -> list[Finding] | None:
    """A COPY_SEGMENT_STARTED that nothing follows."""
    listed = segment.listed
    if listed is None or listed.state != COPY_STARTED or segment.topic_exists is False:
        return None
    said = f"{_about(listed)}: COPY_SEGMENT_STARTED at {_when(listed)}, and nothing follows; {_objects(segment.copy)}"
    severity = NOTE if segment.copy is None or segment.live else None
    return [COPY_UNFINISHED.finding(segment.file, said, found=segment.bytes, severity=severity)]


@check(ReconciledSegment, OBJECTS_MISSING)
def objects_missing(segment: ReconciledSegment) -> list[Finding] | None:
    """Finished copies without objects, or without some of them."""
    listed, copy = segment.listed, segment.copy
    if listed is None or listed.state != COPY_FINISHED or segment.topic_exists is False:
        return None
    if copy is not None and not copy.missing:
        return None
    missing = ["every object"] if copy is None else copy.missing
    said = f"{_about(listed)}: COPY_SEGMENT_FINISHED, and {', '.join(missing)} {'are' if len(missing) > 1 else 'is'}"
    return [OBJECTS_MISSING.finding(segment.file, f"{said} missing in the tier", expected=missing)]


@check(ReconciledSegment, METADATA_DIFFERS)
def metadata_differs(segment: ReconciledSegment) -> Iterator[Finding] | None:
    """Finished copies that hold something else than the metadata says."""
    listed = segment.listed
    if listed is None or listed.state != COPY_FINISHED or segment.copy is None or segment.facts is None:
        return None
    return _metadata_differences(segment, listed, segment.copy)


def _metadata_differences(segment: ReconciledSegment, listed: ListedSegment, copy: RemoteCopy) -> Iterator[Finding]:
    assert segment.facts is not None
    said, held = listed.facts, segment.facts
    manifest = segment.manifest
    size = manifest.chunks.file_bytes if manifest is not None else copy.sizes.get(LOG)
    told: list[tuple[str, Any, Any, str]] = [
        ("start offset", said.start, held.start, ERROR),
        ("end offset", said.end, held.end, ERROR),
        ("size", listed.value["segmentSizeInBytes"], size, ERROR),
        ("leader epochs", _keys(said.epochs), _keys(held.epochs), ERROR),
    ]
    if held.max_timestamp >= 0:
        told.append(("largest timestamp", said.max_timestamp, held.max_timestamp, WARNING))
    if manifest is not None:
        told.append(("topic id", listed.topic_id, manifest.topic_id, ERROR))
        told.append(("partition", listed.partition, manifest.partition, ERROR))
        told.append(("topic", listed.topic, manifest.topic, WARNING))
        told.append(("broker id", listed.value["brokerId"], manifest.broker_id, WARNING))
        told.append(("time of its start", listed.value["startedTimestampMs"], manifest.event_timestamp_ms, WARNING))
    for what, expected, found, severity in told:
        if expected != found:
            where = "its manifest" if manifest is not None else "its objects"
            message = f"{_about(listed)}: the {what} is {expected} by the metadata, {found} by {where}"
            yield METADATA_DIFFERS.finding(segment.file, message, expected=expected, found=found, severity=severity)


@check(ReconciledSegment, DELETE_UNFINISHED)
def delete_unfinished(segment: ReconciledSegment) -> list[Finding] | None:
    """A DELETE_SEGMENT_STARTED that nothing follows, of a topic that exists or may exist."""
    listed = segment.listed
    if listed is None or listed.state != DELETE_STARTED or segment.topic_exists is False:
        return None
    severity = NOTE if segment.copy is None or segment.live else None
    said = f"{_about(listed)}: DELETE_SEGMENT_STARTED at {_when(listed)}, and nothing follows; {_objects(segment.copy)}"
    return [DELETE_UNFINISHED.finding(segment.file, said, found=segment.bytes, severity=severity)]


@check(ReconciledSegment, ORPHAN_OBJECTS)
def orphan_objects(segment: ReconciledSegment) -> list[Finding] | None:
    """Objects that the metadata does not list."""
    copy = segment.copy
    if segment.listed is not None or copy is None or segment.topic_exists is False:
        return None
    why = "the metadata says that it was deleted" if segment.deleted else "the metadata does not list it"
    said = f"segment {copy.segment_id} at offset {copy.base_offset}: {why}; {_objects(copy)}"
    return [ORPHAN_OBJECTS.finding(segment.file, said, found=copy.bytes)]


@check(ReconciledSegment, DELETED_TOPIC)
def deleted_topic(segment: ReconciledSegment) -> list[Finding] | None:
    """Objects, or records without an end, of topics that the cluster does not have any more."""
    listed, copy = segment.listed, segment.copy
    if segment.topic_exists is not False:
        return None
    if copy is None:
        assert listed is not None
        said = f"{_about(listed)}: the topic was deleted, the metadata still says {listed.state}; it has no objects"
        return [DELETED_TOPIC.finding(segment.file, said, found=0, severity=NOTE)]
    about = f"segment {copy.segment_id} at offset {copy.base_offset}" if listed is None else _about(listed)
    state = "does not list it" if listed is None else f"says {listed.state}"
    said = f"{about}: the topic was deleted, the metadata {state}; {_objects(copy)}"
    return [DELETED_TOPIC.finding(segment.file, said, found=copy.bytes)]


def _about(listed: ListedSegment) -> str:
    facts = listed.facts
    return (
        f"segment {listed.segment_id} of {listed.topic}-{listed.partition} ({listed.topic_id}), offsets {facts.start} "
        f"to {facts.end}"
    )


def _when(listed: ListedSegment) -> str:
    return str(iso_time(listed.value["eventTimestampMs"]))


def _objects(copy: RemoteCopy | None) -> str:
    if copy is None:
        return "no object of it is in the tier"
    return f"{counted(len(copy.sizes), 'object')} of it in the tier ({size_text(copy.bytes)})"


def _keys(epochs: Mapping[int, int]) -> dict[str, int]:
    return {str(epoch): start for epoch, start in sorted(epochs.items())}
