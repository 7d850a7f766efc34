"""Light message queues: a broker that dispatches a message to other queues as well is no damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from kidx.rocketmq.engine.store import check_store
from kidx.rocketmq.formats import UNIT
from kidx.rocketmq.open import layout_and_config
from kidx.text.java import string_hash
from tests.damage import set_header
from tests.rocketmq.building import big_message, write_series

LIGHT = ("%LMQ%device-1", "%LMQ%device-2")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Ten messages of T/3, every second of which two light queues have, too."""
    log, own, light = bytearray(), bytearray(), bytearray()
    for offset in range(10):
        properties = "TAGS\x01TagA\x02"
        both = offset % 2 == 0
        if both:
            offsets = ",".join([str(offset // 2)] * len(LIGHT))
            properties += f"INNER_MULTI_DISPATCH\x01{','.join(LIGHT)}\x02INNER_MULTI_QUEUE_OFFSET\x01{offsets}\x02"
        data = big_message(("T", 3, offset, len(log)), b"body" * 20, properties.encode())
        unit = UNIT.struct.pack(len(log), len(data), string_hash("TagA"))
        own += unit
        light += unit * both
        log += data
    write_series(tmp_path / "commitlog", bytes(log), 1 << 14)
    write_series(tmp_path / "consumequeue" / "T" / "3", bytes(own), 20 * UNIT.size)
    for name in LIGHT:
        write_series(tmp_path / "consumequeue" / name / "0", bytes(light), 20 * UNIT.size)
    return tmp_path


def rules_of(store: Path) -> set[str]:
    return {one.rule for one in check_store(*layout_and_config(str(store), None, ())).findings}


def test_units_of_light_queues_are_sound(store: Path) -> None:
    assert rules_of(store) == set()


def test_a_queue_that_the_message_does_not_name_is_another_matter(store: Path) -> None:
    (store / "consumequeue" / LIGHT[0]).rename(store / "consumequeue" / "%LMQ%device-3")
    assert rules_of(store) == {"KXR126", "KXR114"}


def test_light_queues_have_offsets_of_their_own(store: Path) -> None:
    path = store / "consumequeue" / LIGHT[0] / "0" / f"{0:020d}"
    data = path.read_bytes()
    path.write_bytes(data[: 2 * UNIT.size] + data[3 * UNIT.size :] + bytes(UNIT.size))
    assert rules_of(store) == {"KXR125"}
    set_header(path, 0, UNIT, tag_code=7)
    assert rules_of(store) == {"KXR124", "KXR125"}
