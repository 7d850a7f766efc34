"""Replicas made by hand, for the tests of recovery: logs of known batches, in segments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.building import batch, record

TOPIC_ID = "A50OVHlOSvqkZjDaGokI8g"


def batches(count: int, *, first: int = 0, epoch: int = 0, text: bytes = b"value", size: int = 2) -> list[bytes]:
    """Batches of `size` records each, one after another from offset `first` on."""
    made = []
    for n in range(count):
        records = [record(i, i, b"key", text + b" %d" % (first + n * size + i)) for i in range(size)]
        made.append(batch(records, base_offset=first + n * size, leader_epoch=epoch, base_timestamp=1000 + n))
    return made


def base_of(one: bytes) -> int:
    """A batch's base offset."""
    return int.from_bytes(one[:8], "big")


def write_replica(
    directory: Path, *segments: Sequence[bytes], topic_id: str | None = TOPIC_ID, state: str = ""
) -> Path:
    """A partition's directory with these batches in segments, each named by its first batch."""
    directory.mkdir(parents=True, exist_ok=True)
    for segment in segments:
        (directory / f"{base_of(segment[0]):020d}.log{state}").write_bytes(b"".join(segment))
    if topic_id is not None:
        (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    return directory


def log_of(directory: Path) -> bytes:
    """The bytes of a partition's logs, one after another."""
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def tree(directory: Path) -> dict[str, bytes]:
    """Every file below a directory and its bytes."""
    return {str(f.relative_to(directory)): f.read_bytes() for f in sorted(directory.rglob("*")) if f.is_file()}
