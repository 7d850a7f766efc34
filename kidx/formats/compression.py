"""The codecs of batches: gzip, snappy (xerial's framing, or none), lz4 and zstd; output is always bounded.

Sources: org.apache.kafka.common.record.CompressionType, Lz4BlockInputStream (KAFKA-3160: version 0 messages have a
wrong header checksum) and xerial's snappy-java (SnappyOutputStream), which Java clients write; others write raw snappy.
"""

from __future__ import annotations

from kidx.errors import LimitExceeded, WrongFormat

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd", "unknown-5", "unknown-6", "unknown-7")
MAX_INFLATED_BYTES = 64 << 20  # of one batch; a producer's is 1 MiB (max.request.size), bombs are a thousand times that

_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER_BYTES = 16  # magic, version, compatible version
_LZ4_MAGIC = 0x184D2204
_LZ4_INDEPENDENT = 0x20  # of a frame's FLG byte; Lz4BlockInputStream throws where it is not set


class DamagedPayload(WrongFormat):
    """Raised when compressed bytes are not valid for their codec."""


class OutputFull(LimitExceeded):
    """Raised when decompressed data would exceed the given limit."""


def inflate(
    codec: int, data: bytes | memoryview, *, magic: int = 2, limit_bytes: int = MAX_INFLATED_BYTES
) -> memoryview:
    """`data` decompressed. For `magic` 0, the wrong lz4 header checksum of clients at that time is accepted.

    Raises DamagedPayload for bytes the codec did not write, OutputFull if the output would exceed `limit_bytes`.
    """
    if codec == NONE:
        return memoryview(data)
    import mmap

    room = mmap.mmap(-1, limit_bytes)  # pages are taken only as they are written
    view = memoryview(room)
    return view[: inflate_into(codec, data, view, magic=magic)]


def inflate_into(codec: int, data: bytes | memoryview, room: memoryview, *, magic: int = 2) -> int:
    """Inflate into `room` (writable); returns the number of bytes. Raises as `inflate`; OutputFull beyond `room`."""
    if codec == NONE:
        if len(data) > len(room):
            raise _full(codec, len(room))
        room[: len(data)] = data
        return len(data)
    if codec == GZIP:
        return _inflate_gzip(data, room)
    import cramjam

    try:
        if codec == ZSTD:
            return int(cramjam.zstd.decompress_into(data, room))
        if codec == LZ4:
            if len(data) > 4 and not data[4] & _LZ4_INDEPENDENT:
                raise DamagedPayload("lz4: its blocks depend on each other, which no reader of Kafka's takes")
            return int(cramjam.lz4.decompress_into(_mend_lz4_header(data) if magic == 0 else data, room))
        if codec == SNAPPY:
            return _inflate_snappy(data, room)
    except cramjam.DecompressionError as e:
        reason = str(e)
        if "whole buffer" in reason or "output buffer" in reason:
            raise _full(codec, len(room)) from None
        raise DamagedPayload(f"{CODEC_NAMES[codec]}: {reason.removeprefix(CODEC_NAMES[codec] + ': ')}") from None
    raise DamagedPayload(f"codec {codec} does not exist")


def _full(codec: int, room_bytes: int) -> OutputFull:
    return OutputFull(f"a {CODEC_NAMES[codec]} batch inflates to more than {room_bytes} bytes")


def _inflate_gzip(data: bytes | memoryview, room: memoryview) -> int:
    """As Java's GZIPInputStream: members one after another; bytes after the last member are ignored."""
    import zlib

    done = 0
    while True:
        member = zlib.decompressobj(wbits=31)
        try:
            piece = member.decompress(data, len(room) - done + 1)
        except zlib.error as e:
            raise DamagedPayload(f"gzip: {e}") from None
        if len(piece) > len(room) - done:
            raise _full(GZIP, len(room))
        room[done : done + len(piece)] = piece
        done += len(piece)
        if not member.eof:
            raise DamagedPayload("gzip: the stream ends early")
        data = member.unused_data
        if data[:3] != b"\x1f\x8b\x08":
            return done


def _inflate_snappy(data: bytes | memoryview, room: memoryview) -> int:
    import cramjam

    if bytes(data[:8]) != _XERIAL_MAGIC:
        return int(cramjam.snappy.decompress_raw_into(data, room))
    at, done, end = _XERIAL_HEADER_BYTES, 0, len(data)
    if end < at:
        raise DamagedPayload("snappy: the frame's header is cut")
    while at < end:
        size = int.from_bytes(data[at : at + 4], "big")
        if at + 4 + size > end:
            raise DamagedPayload("snappy: a block ends after the payload")
        done += int(cramjam.snappy.decompress_raw_into(data[at + 4 : at + 4 + size], room[done:]))
        at += 4 + size
    return done


def _mend_lz4_header(data: bytes | memoryview) -> bytes:
    """The frame with a correct header checksum: before KAFKA-3160 it also covered the frame's magic number."""
    frame = bytearray(data)
    if len(frame) < 7 or int.from_bytes(frame[:4], "little") != _LZ4_MAGIC:
        return bytes(frame)
    descriptor_end = 6 + (8 if frame[4] & 0x08 else 0)  # FLG, BD, and the content size if there is one
    if len(frame) > descriptor_end:
        frame[descriptor_end] = _xxh32(bytes(frame[4:descriptor_end])) >> 8 & 0xFF
    return bytes(frame)


def _xxh32(data: bytes) -> int:
    """xxHash32 of fewer than 16 bytes, seed 0 (xxHash's specification): a frame descriptor is never longer."""
    p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    mask = 0xFFFFFFFF
    value = (p5 + len(data)) & mask
    words = len(data) // 4 * 4
    for at in range(0, words, 4):
        value = (value + int.from_bytes(data[at : at + 4], "little") * p3) & mask
        value = ((value << 17 | value >> 15) & mask) * p4 & mask
    for byte in data[words:]:
        value = (value + byte * p5) & mask
        value = ((value << 11 | value >> 21) & mask) * p1 & mask
    value = (value ^ value >> 15) * p2 & mask
    value = (value ^ value >> 13) * p3 & mask
    return value ^ value >> 16
