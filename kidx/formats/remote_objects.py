"""The manifest of a remote log segment, which Aiven's plugin writes for each segment.

Sources: SegmentManifestV1, SegmentIndexesV1, FixedSizeChunkIndex, VariableSizeChunkIndex and ChunkSizesBinaryCodec
(Aiven's plugin).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from kidx.errors import KidxError, WrongFormat
from kidx.formats.object_names import PARTS, is_id

MANIFEST_BYTES = 16 << 20
MOST_CHUNKS = 1 << 20  # of a segment, which has at most 2 GiB: the smallest chunks are 2 KiB on average
SEAL_BYTES = 28  # what AES-GCM adds to a piece: 12 bytes of IV, 16 of tag

_TOPIC_CHARACTERS = 249
_LARGEST = 2**63 - 1
_LARGEST_FILE = 2**31 - 1


class Place(NamedTuple):
    """Where a part lies in the `.indexes` object, in bytes."""

    position: int
    size: int


class ChunkIndex:
    """How a log was cut into chunks before they were stored: `chunk_bytes` each, the last one less.

    `ends` are the ends of the stored chunks in the object, ascending; None where each has `stored_bytes`.
    """

    def __init__(
        self, file_bytes: int, chunk_bytes: int, stored_bytes: int, last_bytes: int, ends: Sequence[int] | None
    ) -> None:
        self.file_bytes, self.chunk_bytes = file_bytes, chunk_bytes
        self.count = -(-file_bytes // chunk_bytes)
        self._stored_bytes, self._last_bytes, self._ends = stored_bytes, last_bytes, ends

    def original(self, chunk: int) -> tuple[int, int]:
        """The range of a chunk in the log, in bytes."""
        start = chunk * self.chunk_bytes
        return start, min(start + self.chunk_bytes, self.file_bytes)

    def stored(self, chunk: int) -> tuple[int, int]:
        """The range of a chunk in the object, in bytes."""
        if self._ends is not None:
            return (self._ends[chunk - 1] if chunk else 0), self._ends[chunk]
        start = chunk * self._stored_bytes
        return start, start + (self._stored_bytes if chunk < self.count - 1 else self._last_bytes)

    @property
    def object_bytes(self) -> int:
        """The size of the object that holds all chunks."""
        return self.stored(self.count - 1)[1] if self.count else 0

    def whole_in(self, object_bytes: int) -> int:
        """How many chunks lie completely in the first bytes of the object."""
        if object_bytes >= self.object_bytes:
            return self.count
        if self._ends is not None:
            return bisect_right(self._ends, object_bytes)
        return min(object_bytes // self._stored_bytes, self.count - 1) if self._stored_bytes else 0


class Manifest(NamedTuple):
    """The content of a manifest.

    `places` has a Place for each of PARTS, None for an index that the segment does not have. `data_key` is the id of
    the key pair and the data key that it wraps, `aad` the additional authenticated data; None without encryption.
    `fields` is the JSON object.
    """

    chunks: ChunkIndex
    places: Mapping[str, Place | None]
    compressed: bool
    data_key: tuple[str, bytes] | None
    aad: bytes
    topic: str
    topic_id: str
    partition: int
    segment_id: str
    start_offset: int
    end_offset: int
    max_timestamp_ms: int
    broker_id: int
    event_timestamp_ms: int
    leader_epochs: Mapping[int, int]
    fields: Mapping[str, Any]

    @property
    def plain(self) -> bool:
        """Whether the log is stored as it was."""
        return not self.compressed and self.data_key is None

    @property
    def indexes_bytes(self) -> int:
        """The size of the `.indexes` object."""
        return max((p.position + p.size for p in self.places.values() if p is not None), default=0)


def parse_manifest_json(data: bytes) -> dict[str, Any]:
    """A manifest's JSON object, whatever is in it. Raises WrongFormat where it is none."""
    import json

    try:
        fields = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as e:
        raise WrongFormat(f"not a JSON object ({str(e).splitlines()[0][:100]})") from None
    if not isinstance(fields, dict):
        raise WrongFormat("not a JSON object")
    return fields


def parse_manifest(data: bytes) -> Manifest:
    """A manifest as SegmentManifestV1 writes it. Raises WrongFormat, LimitExceeded: nothing in it is trusted."""
    fields = parse_manifest_json(data)
    top = _Fields("", fields)
    if top.text("version") != "1":
        raise WrongFormat(f"version {str(fields['version'])[:20]!r}, and only '1' is known")
    top.only("version", "chunkIndex", "segmentIndexes", "compression", "encryption", "remoteLogSegmentMetadata")
    compressed = top.boolean("compression")
    data_key, aad = _encryption(top)
    about = top.object("remoteLogSegmentMetadata")
    segment = about.object("remoteLogSegmentId")
    partition = segment.object("topicIdPartition")
    names = partition.object("topicPartition")
    return Manifest(
        _chunk_index(top.object("chunkIndex"), compressed=compressed, sealed=data_key is not None),
        _places(top.object("segmentIndexes")),
        compressed,
        data_key,
        aad,
        names.topic("topic"),
        partition.id("topicId"),
        names.number("partition", 0, _LARGEST_FILE),
        segment.id("id"),
        about.number("startOffset", 0),
        about.number("endOffset", 0),
        about.number("maxTimestampMs", -1),
        about.number("brokerId", -1, _LARGEST_FILE),
        about.number("eventTimestampMs", -1),
        about.epochs("segmentLeaderEpochs"),
        fields,
    )


class _Fields:
    """A JSON object whose fields are taken by name and type. Raises WrongFormat."""

    def __init__(self, path: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise WrongFormat(f"{path or 'it'} is not a JSON object")
        self._path, self._value = path, value

    def _take(self, name: str, kind: type) -> Any:
        value = self._value.get(name)
        if type(value) is not kind:
            words = {str: "a text", int: "an integer", bool: "true or false"}
            raise WrongFormat(f"{self._path}{name} is {_shown(value)}, not {words[kind]}")
        return value

    def object(self, name: str) -> _Fields:
        return _Fields(f"{self._path}{name}.", self._value.get(name))

    def only(self, *names: str) -> _Fields:
        """This object, which has no other fields than these."""
        odd = next((name for name in self._value if name not in names), None)
        if odd is not None:
            raise WrongFormat(f"{self._path}{_shown(odd)} is no field of a manifest of version 1")
        return self

    def text(self, name: str) -> str:
        return str(self._take(name, str))

    def boolean(self, name: str) -> bool:
        return bool(self._take(name, bool))

    def number(self, name: str, least: int, most: int = _LARGEST) -> int:
        value = int(self._take(name, int))
        if not least <= value <= most:
            raise WrongFormat(f"{self._path}{name} is {_shown(value)}, which is out of range")
        return value

    def id(self, name: str) -> str:
        value = self.text(name)
        if not is_id(value):
            raise WrongFormat(f"{self._path}{name} is {_shown(value)}, not an id (22 characters of base64)")
        return value

    def topic(self, name: str) -> str:
        """A topic's name, of which files are named: Topic.validate allows nothing that a path could mean."""
        value = self.text(name)
        plain = value.replace(".", "a").replace("_", "a").replace("-", "a")
        if not (0 < len(value) <= _TOPIC_CHARACTERS and plain.isascii() and plain.isalnum()) or value in (".", ".."):
            raise WrongFormat(f"{self._path}{name} is {_shown(value)}, not a name of a topic")
        return value

    def binary(self, name: str) -> bytes:
        return _from_base64(self.text(name), self._path + name)

    def has(self, name: str) -> bool:
        return self._value.get(name) is not None

    def epochs(self, name: str) -> dict[int, int]:
        """A map from leader epochs, which are texts, to offsets; ascending."""
        given = self.object(name)
        texts = list(given._value)
        if not texts or not all(t.isascii() and t.isdigit() and len(t) <= 10 for t in texts):
            raise WrongFormat(f"{self._path}{name} is {_shown(given._value)}, not a map from leader epochs to offsets")
        return {epoch: given.number(str(epoch), 0) for epoch in sorted(map(int, texts))}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _encryption(top: _Fields) -> tuple[tuple[str, bytes] | None, bytes]:
    if not top.has("encryption"):
        return None, b""
    encryption = top.object("encryption").only("dataKey", "aad")
    key_id, colon, wrapped = encryption.text("dataKey").partition(":")
    if not colon:
        raise WrongFormat("encryption.dataKey has no key pair's id before a colon")
    return (key_id, _from_base64(wrapped, "encryption.dataKey")), encryption.binary("aad")


def _from_base64(text: str, name: str) -> bytes:
    from binascii import a2b_base64

    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError:
        raise WrongFormat(f"{name} is not base64") from None


def _places(indexes: _Fields) -> dict[str, Place | None]:
    indexes.only(*PARTS.values())
    places: dict[str, Place | None] = {}
    end = 0
    for suffix, name in PARTS.items():
        if name == "transaction" and not indexes.has(name):
            places[suffix] = None
            continue
        part = indexes.object(name).only("position", "size")
        place = Place(part.number("position", 0, _LARGEST_FILE), part.number("size", 0, _LARGEST_FILE))
        if place.position != end:
            raise WrongFormat(f"segmentIndexes.{name}.position is {place.position}; the part before it ends at {end}")
        places[suffix], end = place, place.position + place.size
    return places


def _chunk_index(chunks: _Fields, *, compressed: bool, sealed: bool) -> ChunkIndex:
    kind = chunks.text("type")
    file_bytes = chunks.number("originalFileSize", 0, _LARGEST_FILE)
    chunk_bytes = chunks.number("originalChunkSize", 1, _LARGEST_FILE)
    count = -(-file_bytes // chunk_bytes)
    if kind == "fixed":
        stored = chunks.number("transformedChunkSize", 0, _LARGEST_FILE)
        last = chunks.number("finalTransformedChunkSize", 0, _LARGEST_FILE)
        more = SEAL_BYTES if sealed else 0
        expected = chunk_bytes + more, file_bytes - (count - 1) * chunk_bytes + more
        if compressed or (stored, last) != expected:
            raise WrongFormat(f"its chunks have {stored} bytes and the last one {last}; expected {expected}")
        return ChunkIndex(file_bytes, chunk_bytes, stored, last, None)
    if kind != "variable" or not compressed:
        raise WrongFormat(f"chunkIndex.type is {_shown(kind)} with compression {str(compressed).lower()}")
    if count > MOST_CHUNKS:
        raise WrongFormat(f"{count} chunks; kidx reads at most {MOST_CHUNKS} of a segment")
    sizes = _chunk_sizes(chunks.binary("transformedChunks"), count)
    return ChunkIndex(file_bytes, chunk_bytes, 0, 0, list(accumulate(sizes)))


def _chunk_sizes(data: bytes, count: int) -> list[int]:
    """The sizes of `count` stored chunks, from their zstd frame (ChunkSizesBinaryCodec, big-endian)."""
    from kidx.formats.compression import ZSTD, inflate

    limit = 16 + 4 * max(count, 1)  # the longest form that this many sizes can take
    try:
        raw = bytes(inflate(ZSTD, data, limit_bytes=limit))
    except KidxError as e:
        raise WrongFormat(f"chunkIndex.transformedChunks: {e}") from None
    said = int.from_bytes(raw[:4], "big", signed=True)
    if said != count:
        raise WrongFormat(f"chunkIndex.transformedChunks has {said} chunks; the sizes of file and chunks make {count}")
    if count < 2:
        sizes, end = ([int.from_bytes(raw[4:8], "big", signed=True)] if count else []), 4 + 4 * count
    else:
        base, width = int.from_bytes(raw[4:8], "big", signed=True), raw[8] if len(raw) > 8 else 0
        if not 1 <= width <= 4:
            raise WrongFormat(f"chunkIndex.transformedChunks has values of {width} bytes")
        end = 9 + (count - 1) * width + 4
        body = raw[9 : end - 4]
        sizes = [base + int.from_bytes(body[at : at + width], "big") for at in range(0, len(body), width)]
        sizes.append(int.from_bytes(raw[end - 4 : end], "big", signed=True))
    if end != len(raw) or min(sizes, default=0) < 0:
        raise WrongFormat("chunkIndex.transformedChunks does not end where its chunks do, or a size is negative")
    return sizes
