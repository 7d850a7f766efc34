"""The objects of a remote segment: complete, as the manifest says, and as the segment that they are a copy of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kidx.checks.rule import check
from kidx.checks.subjects.remote import CheckedCopies, CheckedCopy, DamagedPiece, RemoteObjects
from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule
from kidx.formats.object_names import INDEXES, LOG, MANIFEST
from kidx.text.quantities import counted, size_text

if TYPE_CHECKING:
    from kidx.formats.remote_objects import Manifest
    from kidx.tiered.lineage import CopyFacts

COPY_AGAIN = "copy the segment to the tier again from a replica that still has it, or restore the object"

COPY_INCOMPLETE = Rule(
    code="KX701",
    name="remote-copy-incomplete",
    severity=WARNING,
    title="A remote segment lacks some of its objects",
    broker=(
        "Without COPY_SEGMENT_FINISHED in __remote_log_metadata a broker never reads the copy, and copies the segment "
        "again under another id. It leaves the objects where they are (3.9, 4.3)."
    ),
    story=(
        "LocalTieredStorage writes log, index, time index, transaction index, leader epochs and snapshot, in this "
        "order; Aiven's plugin log, indexes and manifest. A broker that dies in between leaves the first of them, the "
        "last one possibly short. No broker reads or removes these objects. `kidx verify LOGDIR... --remote TIER` "
        "shows what the metadata says about them."
    ),
    repair="remove the objects once the metadata shows that the segment was copied again",
)

MANIFEST_DAMAGED = Rule(
    code="KX702",
    name="remote-manifest-damaged",
    severity=ERROR,
    title="The manifest of a remote segment cannot be read",
    broker=(
        "Aiven's plugin reads the manifest before every read of the segment: fetches from the tier, time look-ups and "
        "index reads fail."
    ),
    story=(
        "The manifest is one JSON object. It says how the log was cut into chunks, where the indexes lie, and with "
        "which key both are encrypted. It was cut short, as by a broker that died while it wrote it, or overwritten. "
        "Of an uncompressed, unencrypted segment the log's object is the log itself."
    ),
    repair=COPY_AGAIN,
)

OBJECT_SIZE = Rule(
    code="KX703",
    name="remote-object-size",
    severity=ERROR,
    title="An object of a remote segment has another size than its manifest says",
    broker="Aiven's plugin asks the store for a range by the manifest: reads of what is missing fail.",
    story=(
        "The chunks of the log lie back to back in its object, the indexes in theirs, and nothing follows. An object "
        "that is shorter was cut, or is another copy's; one that is longer is another copy's."
    ),
    repair=COPY_AGAIN,
)

OBJECT_NAME = Rule(
    code="KX704",
    name="remote-object-name",
    severity=ERROR,
    title="A manifest is of another segment than its name says",
    broker="Aiven's plugin finds objects by their names alone, and does not compare them with the manifest.",
    story=(
        "An object's name has the topic id, the partition, the base offset and the segment's id; the manifest repeats "
        "them. They differ where objects were renamed, restored to a wrong place, or overwritten."
    ),
)

PIECE_DAMAGED = Rule(
    code="KX705",
    name="remote-chunk-damaged",
    severity=ERROR,
    title="A piece of a remote segment cannot be decrypted or decompressed",
    broker="A fetch that needs the piece fails, and so does every consumer that comes to its offsets.",
    story=(
        "The plugin compresses each chunk of the log by itself (zstd), and encrypts each chunk and each index with "
        "AES-GCM, which notices every changed bit. The object was damaged, or the manifest's data key or AAD. If every "
        "piece of a segment is damaged, suspect the manifest."
    ),
    repair=COPY_AGAIN,
)

COPY_DIFFERS = Rule(
    code="KX706",
    name="remote-log-differs",
    severity=ERROR,
    title="A remote log does not hold the offsets that its manifest says",
    broker=(
        "The broker believes __remote_log_metadata, which was written from the same source as the manifest: offsets "
        "are looked up in a segment that does not hold them, or time look-ups and retention use a wrong time."
    ),
    story=(
        "A copied segment ends with the offset before the next one's base, and its largest timestamp is that of its "
        "log. The manifest was overwritten, or the log is another segment's."
    ),
    repair=COPY_AGAIN,
)

COPY_EPOCHS = Rule(
    code="KX707",
    name="remote-epochs-differ",
    severity=ERROR,
    title="The leader epochs of a remote segment contradict each other",
    broker=(
        "A broker looks remote offsets up by leader epoch, and a follower without local data restores its "
        "leader-epoch-checkpoint from the tier: with wrong epochs it finds nothing, or truncates at a wrong offset."
    ),
    story=(
        "A copy carries the leader epochs of the whole log up to its end. Each copy's lines agree with those of the "
        "copies after it, and with the manifest. They differ where a file was overwritten or restored from elsewhere. "
        "A segment of a leader whose records were truncated later (an unclean election) is of another history: a note."
    ),
)

COPY_OVERLAP = Rule(
    code="KX708",
    name="remote-copy-repeated",
    severity=NOTE,
    title="The offsets of a remote segment are in other copies, too",
    broker="Of several copies a broker reads the one that was finished last for these offsets and this leader epoch.",
    story=(
        "A copy that was interrupted is made again under another id, and a new leader may copy what the old one had "
        "copied. `kidx verify LOGDIR... --remote TIER` shows by the metadata which copies are not needed."
    ),
)


@check(RemoteObjects, COPY_INCOMPLETE)
def copy_incomplete(objects: RemoteObjects) -> list[Finding] | None:
    """A copy without some of its objects."""
    copy, missing = objects.copy, objects.copy.missing
    if not missing:
        return None
    have = ", ".join(sorted(copy.sizes))
    said = (
        f"segment {copy.segment_id}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; "
        f"{have} {'is' if len(copy.sizes) == 1 else 'are'} there ({size_text(copy.bytes)})"
    )
    return [COPY_INCOMPLETE.finding(copy.object, said, expected=missing, found=sorted(copy.sizes))]


@check(RemoteObjects, MANIFEST_DAMAGED)
def manifest_damaged(objects: RemoteObjects) -> list[Finding] | None:
    """A manifest that is not what Aiven's plugin writes."""
    if objects.damaged is None:
        return None
    said = f"the manifest of segment {objects.copy.segment_id}: {objects.damaged.why}"
    return [MANIFEST_DAMAGED.finding(objects.damaged.path, said)]


@check(RemoteObjects, OBJECT_SIZE)
def object_size(objects: RemoteObjects) -> Iterator[Finding] | None:
    """Objects that are shorter or longer than the manifest says."""
    return None if objects.manifest is None else _wrong_sizes(objects, objects.manifest)


def _wrong_sizes(objects: RemoteObjects, manifest: Manifest) -> Iterator[Finding]:
    for suffix, expected in ((LOG, manifest.chunks.object_bytes), (INDEXES, manifest.indexes_bytes)):
        size = objects.copy.sizes.get(suffix)
        if size is not None and size != expected:
            said = f"{size} bytes; the manifest of segment {objects.copy.segment_id} says {expected}"
            span = min(size, expected), max(size, expected)
            yield OBJECT_SIZE.finding(objects.copy.stem + suffix, said, span=span, expected=expected, found=size)


@check(RemoteObjects, OBJECT_NAME)
def object_name(objects: RemoteObjects) -> Iterator[Finding] | None:
    """Manifests of another segment, partition or topic."""
    return None if objects.manifest is None else _wrong_names(objects, objects.manifest)


def _wrong_names(objects: RemoteObjects, manifest: Manifest) -> Iterator[Finding]:
    copy, place = objects.copy, objects.copy.place
    told = [
        ("segment id", copy.segment_id, manifest.segment_id),
        ("start offset", copy.base_offset, manifest.start_offset),
    ]
    if place is not None:
        told.append(("topic id", place.topic_id, manifest.topic_id))
        told.append(("partition", place.partition, manifest.partition))
        if not place.topic.endswith(manifest.topic):  # the plugin's prefix may be in front of it
            told.append(("topic", place.topic, manifest.topic))
    for what, expected, found in told:
        if expected != found:
            said = f"segment {copy.segment_id}: the {what} is {expected} by the object's name, {found} by the manifest"
            yield OBJECT_NAME.finding(copy.stem + MANIFEST, said, expected=expected, found=found)


@check(DamagedPiece, PIECE_DAMAGED)
def piece_damaged(piece: DamagedPiece) -> list[Finding]:
    """A piece that cannot be read."""
    said = f"segment {piece.copy.segment_id}: {piece.damage.why}"
    return [PIECE_DAMAGED.finding(piece.damage.path, said, span=piece.damage.span)]


@check(CheckedCopy, COPY_DIFFERS)
def copy_differs(checked: CheckedCopy) -> Iterator[Finding] | None:
    """Manifests whose offsets or times are not those of the log."""
    log, manifest = checked.checked.log, checked.manifest
    if manifest is None or log is None or not log.as_written or log.last_offset is None:
        return None
    return _differences(checked, manifest, log.last_offset, log.max_timestamp)


def _differences(checked: CheckedCopy, manifest: Manifest, last: int, largest: int) -> Iterator[Finding]:
    told = []
    if manifest.end_offset != last:
        told.append(("end offset", last, manifest.end_offset, ERROR))
    if largest >= 0 and manifest.max_timestamp_ms != largest:
        told.append(("largest timestamp", largest, manifest.max_timestamp_ms, WARNING))
    path, segment_id = checked.copy.stem + MANIFEST, checked.copy.segment_id
    for what, expected, found, severity in told:
        said = f"segment {segment_id}: the {what} is {found} by the manifest, {expected} in the log"
        yield COPY_DIFFERS.finding(path, said, expected=expected, found=found, severity=severity)


@check(CheckedCopy, COPY_EPOCHS)
def manifest_epochs(checked: CheckedCopy) -> list[Finding] | None:
    """Manifests whose leader epochs are not those of the copy's leader epochs file."""
    manifest, lines = checked.manifest, checked.epochs
    if manifest is None or lines is None:
        return None
    start, end = manifest.start_offset, manifest.end_offset
    expected = {}
    for at, line in enumerate(lines):
        behind = lines[at + 1].start_offset if at + 1 < len(lines) else end + 1
        if behind > start and line.start_offset <= end:
            expected[line.epoch] = max(line.start_offset, start)
    if expected == dict(manifest.leader_epochs):
        return None
    said = f"segment {checked.copy.segment_id}: the manifest has the leader epochs {_text(manifest.leader_epochs)}, "
    said += f"the copy's leader epochs file {_text(expected)}"
    return [
        COPY_EPOCHS.finding(
            checked.copy.stem + MANIFEST, said, expected=_keys(expected), found=_keys(manifest.leader_epochs)
        )
    ]


@check(CheckedCopies, COPY_EPOCHS)
def other_history(copies: CheckedCopies) -> Iterator[Finding] | None:
    """Copies whose leader epochs are not those of the log that the newest copies are of."""
    return _other_histories(copies) if copies.others and copies.lineage else None


def _other_histories(copies: CheckedCopies) -> Iterator[Finding]:
    from kidx.tiered.lineage import is_within

    for copy in copies.others:
        facts = copies.facts[copy.segment_id]
        if not is_within(facts, copies.lineage):
            said = f"segment {copy.segment_id} is of another history: its leader epochs {_text(facts.epochs)} are not "
            said += "among those of the newest copy"
            yield COPY_EPOCHS.finding(copy.object, said, found=_keys(facts.epochs), severity=NOTE)


@check(CheckedCopies, COPY_OVERLAP)
def copy_overlap(copies: CheckedCopies) -> Iterator[Finding] | None:
    """Copies whose offsets are all in the others."""
    return _overlaps(copies) if copies.others else None


def _overlaps(copies: CheckedCopies) -> Iterator[Finding]:
    from kidx.tiered.lineage import is_within

    for copy in copies.others:
        facts = copies.facts[copy.segment_id]
        if copies.lineage and not is_within(facts, copies.lineage):
            continue
        others = [c.segment_id for c in copies.chain if _meets(copies.facts[c.segment_id], facts)]
        said = f"offsets {facts.start} to {facts.end} of segment {copy.segment_id} ({size_text(copy.bytes)}) are in "
        said += f"{counted(len(others), 'other copy', 'other copies')}: {', '.join(others[:4])}"
        yield COPY_OVERLAP.finding(copy.object, said, found=[facts.start, facts.end])


def _meets(one: CopyFacts, other: CopyFacts) -> bool:
    return one.start <= other.end and other.start <= one.end


def _text(epochs: Mapping[int, int]) -> str:
    return ", ".join(f"{epoch} from {start}" for epoch, start in sorted(epochs.items())) or "none"


def _keys(epochs: Mapping[int, int]) -> dict[str, int]:
    return {str(epoch): start for epoch, start in sorted(epochs.items())}
