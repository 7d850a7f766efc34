"""`python -m benchmarks.rocketmq_verify`: a store verified, every unit and every body, against `cat` of what is read.

Full ConsumeQueue files of 300,000 units, and a commit log that ends where their messages end, so that `cat` of the
store's files reads what kidx reads. Messages are as a busy topic has them: keys, a few tags, bodies about as long as
said. Needs up to 1.1 GiB below benchmarks/data.
"""

from __future__ import annotations

import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.harness import Pair, in_turns

DATA = Path(__file__).parent / "data" / "rocketmq"
KIDX = Path(sys.executable).parent / "kidx"
UNITS = 300_000  # a full ConsumeQueue file of the default size, 6 MB
TAGS = ("Created", "Paid", "Shipped", "Returned", "Cancelled")
CASES = ((1, 1, 1000), (8, 1, 1000), (1, 1, 3000), (1, 3, 1000))  # queues, files a queue, bytes a body
HOST = bytes([10, 0, 0, 1]) + (10911).to_bytes(4)
PROPERTIES = b"KEYS\x01order-%d\x02UNIQ_KEY\x017F00000100012A139A55%012X\x02WAIT\x01true\x02TAGS\x01%s\x02"
HEAD = struct.Struct(">iIIiiqqiq8sq8s12xi")


def tag_code(tag: str) -> int:
    """Java's hash of an ASCII string."""
    value = 0
    for byte in tag.encode():
        value = (value * 31 + byte) & 0xFFFFFFFF
    return value - ((value >> 31) << 32)


def make_store(root: Path, queues: int, files: int, body_bytes: int, seed: int = 1) -> Path:
    """Queues that take turns, `files` full ones each, and one commit-log file of all their messages."""
    draw = Random(seed)
    noise = draw.randbytes(1 << 20)
    units = [bytearray() for _ in range(queues)]
    codes = {tag: tag_code(tag) for tag in TAGS}
    (root / "commitlog").mkdir(parents=True)
    at = 0
    with (root / "commitlog" / f"{0:020d}").open("wb") as log:
        for number in range(UNITS * files):
            queue = number % queues
            length = draw.randrange(body_bytes * 3 // 4, body_bytes * 5 // 4)
            start = draw.randrange(len(noise) - length)
            body, tag = noise[start : start + length], TAGS[draw.randrange(len(TAGS))]
            properties = PROPERTIES % (draw.randrange(1 << 30), number, tag.encode())
            tail = b"\x06Orders" + len(properties).to_bytes(2) + properties
            size, time = HEAD.size + length + len(tail), 1_600_000_000_000 + number
            crc = zlib.crc32(body) & 0x7FFFFFFF
            head = size, 0xDAA320A7, crc, queue, 0, len(units[queue]) // 20, at, 0, time, HOST, time, HOST, length
            log.write(HEAD.pack(*head) + body + tail)
            units[queue] += struct.pack(">qiq", at, size, codes[tag])
            at += size
    for queue, data in enumerate(units):
        directory = root / "consumequeue" / "Orders" / str(queue)
        directory.mkdir(parents=True)
        width = len(data) // files
        for base in range(0, len(data), width):
            (directory / f"{base:020d}").write_bytes(data[base : base + width])
    return root


def stores(rounds: int = 7) -> Iterator[tuple[str, Pair]]:
    """Each case, whole processes in turns."""
    for queues, files, body_bytes in CASES:
        root = make_store(DATA, queues, files, body_bytes)
        try:
            read = sorted(path for path in root.rglob("*") if path.is_file())
            size = sum(path.stat().st_size for path in read) / 1e6
            pair = in_turns([KIDX, "rocketmq", "verify", root], ["cat", *read], rounds)
        finally:
            shutil.rmtree(root)
        what = f"{UNITS * files:,} messages, {queues} queue{'s'[: queues > 1]}, {size:,.0f} MB"
        yield f"rocketmq verify, {what} / cat", pair


def main() -> None:
    for what, pair in stores():
        print(f"{pair.ratio:6.2f}x  {pair.seconds:7.3f} s  {pair.yardstick_seconds:7.3f} s  {what}", flush=True)


if __name__ == "__main__":
    main()
