"""Kafka's own message classes and converters: the table of record kinds is theirs, and so are bytes and JSON.

$KIDX_SEED chooses other random values; the seed is printed.
"""

from __future__ import annotations

import os
import random
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from kidx.compat.dump_log_segments.jackson import compact_json
from kidx.formats.schemas.model import Message, messages
from kidx.formats.schemas.reader import JACKSON, read_message
from tests.formats.message_model import encode, random_value
from tests.interop.lab import CACHE, KAFKA, Program, class_path

pytestmark = pytest.mark.interop
SEED = os.environ.get("KIDX_SEED", "1")
ROUNDS = 20
PACKAGES = {
    "group": "org.apache.kafka.coordinator.group.generated",
    "transaction": "org.apache.kafka.coordinator.transaction.generated",
    "share": "org.apache.kafka.coordinator.share.generated",
    "metadata": "org.apache.kafka.common.metadata",
    "remote": "org.apache.kafka.server.log.remote.metadata.storage.generated",
    "data": "org.apache.kafka.common.message",
}
DERIVE = Path(__file__).resolve().parents[2] / "fixtures/derive_message_schemas.py"


@pytest.fixture(scope="module")
def kafka() -> Iterator[Program]:
    print(f"KIDX_SEED={SEED}")
    program = Program(Path(__file__).with_name("KafkaMessages.java"))
    yield program
    program.close()


def test_the_table_is_what_the_jars_say() -> None:
    class_path()
    derive = runpy.run_path(str(DERIVE))
    assert derive["derive"](CACHE / f"kafka-{KAFKA}" / "jars", KAFKA) == derive["TABLE"].read_text()


@pytest.mark.parametrize("message", messages().values(), ids=messages())
def test_bytes_and_json_are_kafkas(kafka: Program, message: Message) -> None:
    for version in range(message.versions.first, message.versions.last + 1):
        for i in range(ROUNDS):
            chance = random.Random(f"{SEED} {message.name} {version} {i}")
            data = encode(message, version, random_value(message.fields, version, chance))
            written, json = kafka.ask(f"{PACKAGES[message.family]}.{message.name}", version, data.hex())
            assert written == data.hex(), (version, i)
            assert compact_json(read_message(message, version, data, 0, JACKSON)[0]) == json, (version, i)
