"""Records of every kind and version with anything in them, damaged too: replayed without an exception, and shown."""

from __future__ import annotations

import io
import json
import random
from struct import pack

import pytest

from kidx.formats.batches import Batch, parse_batch
from kidx.formats.records import Record
from kidx.formats.schemas.model import messages
from kidx.formats.schemas.topics import GROUP, METADATA, SHARE, TRANSACTION
from kidx.logdir.tree import Partition
from kidx.report.screens.state import show
from kidx.state.cluster import ClusterState
from kidx.state.coordinators import CoordinatorState
from kidx.state.facts import Facts
from kidx.state.internal_topics import LogDirs, Question
from kidx.state.replay import State
from kidx.tables.state import Replayed, difference_table, fact_table
from tests.building import batch
from tests.formats.message_model import encode, random_value, varint

ROUNDS = 25


def any_pairs(family: str, chance: random.Random) -> list[tuple[bytes | None, bytes | None]]:
    """Records of every kind, with values of their own or tombstones; a third of them damaged."""
    mine = [m for m in messages().values() if m.family == family]
    found: list[tuple[bytes | None, bytes | None]] = []
    for message in mine:
        for version in range(message.versions.first, message.versions.last + 1):
            data = encode(message, version, random_value(message.fields, version, chance))
            if message.role == "record":
                found.append((None, varint(1) + varint(message.api_key) + varint(version) + data))
            elif message.role == "key":
                head = pack(">h", message.api_key) + data
                found += [(head, None)] if chance.random() < 0.3 else []
                for value in (m for m in mine if m.role == "value" and m.api_key == message.api_key):
                    last = value.versions.last
                    said = encode(value, last, random_value(value.fields, last, chance))
                    found.append((head, pack(">h", last) + said))
    chance.shuffle(found)
    return [(_damaged(key, chance), _damaged(value, chance)) for key, value in found]


def _damaged(data: bytes | None, chance: random.Random) -> bytes | None:
    if not data or chance.random() < 0.8:
        return data
    at = chance.randrange(len(data))
    return data[:at] + chance.randbytes(chance.randrange(3)) + data[at + 1 :]


def header(*, transactional: bool) -> Batch:
    return parse_batch(batch([], attributes=0x10 if transactional else 0, producer=(5, 0, 0)), 0, 0)


def shown(before: Facts, after: Facts) -> str:
    """What is printed of both, as text and as JSON."""
    out = io.StringIO()
    first, second = State(before, 0, []), State(after, 0, [])
    nowhere, everything = LogDirs([]), Question()
    old, new = ([Replayed(Partition("x", ()), state)] for state in (first, second))
    for table in (fact_table(new, nowhere, everything), difference_table(old, new, nowhere, everything)):
        rows = list(table.rows)
        json.dumps(rows)
        table.rows = rows
        show(table, out)
    return out.getvalue()


@pytest.mark.parametrize("family", [GROUP, TRANSACTION, SHARE])
def test_coordinators(family: str) -> None:
    chance = random.Random(family)
    state, half = CoordinatorState(family), CoordinatorState(family)
    offset = 0
    for number in range(ROUNDS):
        for key, value in any_pairs(family, chance):
            record = Record(offset, offset, key, value)
            for replaying in [state] + [half] * (number < ROUNDS // 2):
                replaying.replay(header(transactional=number % 3 == 0), record)
            offset += 1
        state.end_transaction(5, number % 2)
    assert state.facts.sorted() and state.undecoded < offset
    assert shown(half.facts, state.facts)


def test_the_cluster() -> None:
    chance = random.Random(METADATA)
    state, half = ClusterState(), ClusterState()
    offset = 0
    for number in range(ROUNDS):
        for key, value in any_pairs(METADATA, chance):
            record = Record(offset, offset, key, value)
            for replaying in [state] + [half] * (number < ROUNDS // 2):
                replaying.replay(record)
            offset += 1
    assert state.facts.sorted() and state.undecoded < offset
    assert shown(half.facts, state.facts)
