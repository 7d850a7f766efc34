"""What a running broker tells its clients, and what kidx reads from its log dir meanwhile."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

from tests.interop.lab import Program
from tests.interop.ledger import Ledger
from tests.interop.questions import rows

ISOLATIONS = ("read_uncommitted", "read_committed")
_TIMES, _SLICES, _VISIBLE = 12, 4, 12
_SIZES = (1, 300, 1100, 5000, 20000)


def live(client: Program, ledger: Ledger, chance: random.Random, partition: Path, *, slices: bool) -> None:
    """All records; ListOffsets; fetches of a size, where every batch is data (`slices`); visibility."""
    topic = partition.name.removesuffix("-0")
    start, end = map(int, client.ask("offsets", topic, 0))
    records = [row for log in sorted(partition.glob("*.log")) for row in rows("dump", "--records", log)]
    seen = {row["offset"]: row for row in records if row["offset"] >= start and row["control_type"] is None}
    everything = _contents(client, topic, start, "read_uncommitted")
    asked = ("dump", "--records", partition)
    ledger.compare("records", asked, {o: _said(row) for o, row in seen.items() if o < end}, everything)
    committed = _contents(client, topic, start, "read_committed")
    for offset in chance.sample(sorted(seen), min(_VISIBLE, len(seen))):
        question = ("lookup", partition, "--offset", offset, "--isolation", "read_committed")
        (row,) = rows(*question)
        ledger.compare("visible", question, row["visible"], offset in committed)
    for isolation in ISOLATIONS:
        _list_offsets(client, ledger, partition, topic, isolation)
    _times(client, ledger, chance, partition, topic, [row["timestamp"] for row in seen.values()])
    if slices:
        _slices(client, ledger, chance, partition, topic, start, end)


def _contents(client: Program, topic: str, start: int, isolation: str) -> dict[int, str]:
    said = client.ask("contents", topic, 0, start, isolation)[0]
    return {int(offset): rest for offset, _, rest in (each.partition(":") for each in said.split(",") if each)}


def _said(row: dict[str, Any]) -> str:
    return f"{row['timestamp']}:{_crc(row['key'])}:{_crc(row['value'])}"


def _crc(data: str | None) -> str:
    return "-" if data is None else f"{zlib.crc32(bytes.fromhex(data)):x}"


def _list_offsets(client: Program, ledger: Ledger, partition: Path, topic: str, isolation: str) -> None:
    said = client.ask("list", topic, 0, isolation)
    for special, told in zip((-2, -1, -3), said, strict=True):
        question = ("lookup", partition, "--timestamp", special, "--isolation", isolation)
        (row,) = rows(*question)
        found = row["found"] or {"offset": -1, "timestamp": -1, "leader_epoch": None}
        epoch = "-" if found["leader_epoch"] is None else found["leader_epoch"]
        ledger.compare("ListOffsets", question, f"{found['offset']}:{found['timestamp']}:{epoch}", told)


def _times(
    client: Program, ledger: Ledger, chance: random.Random, partition: Path, topic: str, stamps: list[int]
) -> None:
    near = {t + d for t in chance.sample(stamps, min(_TIMES, len(stamps))) for d in (-1, 0, 1)}
    times = chance.sample(sorted(t for t in near | {0, 2**60} if t >= 0), min(_TIMES, len(near)))
    if not times:
        return
    for time, told in zip(times, client.ask("times", topic, 0, ",".join(map(str, times)))[0].split(","), strict=True):
        (row,) = rows("lookup", partition, "--timestamp", time)
        found = row["found"]
        ours = f"{found['offset']}:{found['timestamp']}" if found else "-"
        ledger.compare("time", ("lookup", partition, "--timestamp", time), ours, told)


def _slices(
    client: Program, ledger: Ledger, chance: random.Random, partition: Path, topic: str, start: int, end: int
) -> None:
    for _ in range(_SLICES):
        offset, size = chance.randrange(start, end), chance.choice(_SIZES)
        question = ("lookup", partition, "--offset", offset, "--max-bytes", size)
        (row,) = rows(*question)
        ours = list(range(offset, row["slice"]["last_offset"] + 1))
        told = [int(n) for n in client.ask("slice", topic, 0, offset, size)[0].split(",")]
        ledger.compare("fetch", question, ours, told)


def groups(client: Program, ledger: Ledger, log_dir: Path, names: list[str]) -> None:
    """What groups have committed, beside `kidx state`."""
    stated = rows("state", log_dir / "__consumer_offsets-0")
    for name in names:
        mine = sorted(
            f"{row['key']['topic']}:{row['key']['partition']}:{row['value']['offset']}"
            for row in stated
            if row.get("kind") == "committed_offset" and row["key"]["group"] == name
        )
        ledger.compare("group", ("state", name), ",".join(mine), client.ask("group", name)[0])
