"""The log cleaner's offset map, slot for slot."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

from kidx.cleaner import OffsetMap
from kidx.cleaner.offset_map import OffsetMapFull
from tests.interop.lab import Program
from tests.interop.ledger import Ledger

_DIGESTS = ("MD5", "MD5", "SHA-1", "SHA-256", "MD2", "SHA-512")


def maps(kafka: Program, ledger: Ledger, chance: random.Random, scratch: Path, count: int) -> None:
    """SkimpyOffsetMap with random keys, some again, some too many."""
    for _ in range(count):
        memory, digest = chance.choice((100, 2400, 10_001, 50_000)), chance.choice(_DIGESTS)
        keys = [chance.randbytes(chance.randrange(12)) for _ in range(chance.randrange(1, 600))]
        puts = [(chance.choice(keys), offset) for offset in range(chance.randrange(1, 900))]
        asked = chance.sample(keys, min(20, len(keys)))
        lines = scratch / "puts"
        lines.write_text("".join(f"{k.hex()} {o}\n" for k, o in puts) + "".join(f"?{k.hex()}\n" for k in asked))
        said = kafka.ask("map", memory, digest, lines)
        question = (f"OffsetMap({memory}, {digest!r})", f"{len(puts)} puts")
        ledger.compare("offset map", question, _ours(memory, digest, puts, asked), said)


def _ours(memory: int, digest: str, puts: list[tuple[bytes, int]], asked: list[bytes]) -> list[str]:
    own = OffsetMap(memory, digest)
    done = 0
    for key, offset in puts:
        try:
            own.put(key, offset)
        except OffsetMapFull:
            break
        done += 1
    sha = hashlib.sha256(own.to_bytes()).hexdigest()
    numbers = (done, own.slots, own.size, own.latest_offset)
    return [*map(str, numbers), sha, ",".join(str(own.get(key)) for key in asked)]
