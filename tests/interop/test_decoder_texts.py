"""DumpLogSegments' decoders compared with kidx's: logs of every record kind and version, sound and damaged values.

$KIDX_SEED chooses other values; the seed is printed. What the tool says of records that it cannot read is Java's text
of an exception; that both cannot is compared.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path
from struct import pack

import pytest

from kidx.formats.schemas.model import Message, messages
from tests.building import batch, record
from tests.formats.message_model import encode, random_value, varint
from tests.interop.lab import class_path
from tests.support import kidx

pytestmark = pytest.mark.interop
SEED = os.environ.get("KIDX_SEED", "1")
OPTIONS = {
    "group": ("__consumer_offsets-0", "--offsets-decoder"),
    "transaction": ("__transaction_state-0", "--transaction-log-decoder"),
    "share": ("__share_group_state-0", "--share-group-state-decoder"),
    "metadata": ("__cluster_metadata-0", "--cluster-metadata-decoder"),
    "remote": ("__remote_log_metadata-0", "--remote-log-metadata-decoder"),
}
CANNOT = re.compile(r"(Error at (?:offset )?\d+, skipping\.) .*")


def versions(message: Message) -> range:
    return range(message.versions.first, message.versions.last + 1)


def random_bytes(message: Message, version: int, chance: random.Random) -> bytes:
    value = random_value(message.fields, version, chance)
    if message.family == "remote" and chance.random() < 0.7:  # Kafka's classes refuse most of what is random here
        for name in value.keys() & {"remoteLogSegmentState", "remotePartitionDeleteState"}:
            value[name] = chance.randrange(4)
        if "startOffset" in value:
            value["startOffset"], value["endOffset"] = sorted(
                abs(value[name]) % 2**62 for name in ("startOffset", "endOffset")
            )
    return encode(message, version, value)


def pairs(family: str, chance: random.Random) -> list[tuple[bytes | None, bytes | None]]:
    """(key, value) of every kind and version of a family, and tombstones."""
    found: list[tuple[bytes | None, bytes | None]] = []
    mine = [m for m in messages().values() if m.family == family]
    for message in (m for m in mine if m.role in ("record", "data")):
        for version in versions(message):
            frame = varint(1) + varint(message.api_key) + varint(version)
            found.append((None, frame + random_bytes(message, version, chance)))
    for key in (m for m in mine if m.role == "key"):
        head = pack(">h", key.api_key) + random_bytes(key, 0, chance)
        found.append((head, None))
        for value in (m for m in mine if m.role == "value" and m.api_key == key.api_key):
            found += [(head, pack(">h", version) + random_bytes(value, version, chance)) for version in versions(value)]
    return found


def damaged(data: bytes | None, chance: random.Random) -> bytes | None:
    if data is None or chance.random() < 0.4:
        return data
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice((b"", b"\xff", b"\0", chance.randbytes(2))) + data[at + chance.randrange(3) :]


def write_log(directory: Path, found: list[tuple[bytes | None, bytes | None]]) -> Path:
    directory.mkdir()
    records = [record(i, 0, key, value) for i, (key, value) in enumerate(found)]
    log = directory / "00000000000000000000.log"
    log.write_bytes(batch(records))
    return log


def texts(log: Path, option: str) -> tuple[list[str], list[str]]:
    """What the tool prints, and kidx."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path(), "org.apache.kafka.tools.DumpLogSegments"]
    tool = subprocess.run([*command, option, "--files", log], capture_output=True, check=True, timeout=120)
    ours = kidx("dump", "--format", "kafka", option, log)
    return tool.stdout.decode().split("\n"), ours.out.decode().split("\n")


@pytest.mark.parametrize("family", OPTIONS)
def test_every_kind_and_version(family: str, tmp_path: Path) -> None:
    print(f"KIDX_SEED={SEED}")
    chance = random.Random(f"{SEED} {family}")
    name, option = OPTIONS[family]
    found = [pair for _ in range(5) for pair in pairs(family, chance)]
    tool, ours = texts(write_log(tmp_path / name, found), option)
    assert len(tool) > len(found)
    assert [CANNOT.sub(r"\1", line) for line in ours] == [CANNOT.sub(r"\1", line) for line in tool]


@pytest.mark.parametrize("family", OPTIONS)
def test_damaged_values(family: str, tmp_path: Path) -> None:
    print(f"KIDX_SEED={SEED}")
    chance = random.Random(f"{SEED} damaged {family}")
    name, option = OPTIONS[family]
    found = [(damaged(k, chance), damaged(v, chance)) for _ in range(5) for k, v in pairs(family, chance)]
    tool, ours = texts(write_log(tmp_path / name, found), option)
    assert [CANNOT.sub(r"\1", line) for line in ours] == [CANNOT.sub(r"\1", line) for line in tool]
