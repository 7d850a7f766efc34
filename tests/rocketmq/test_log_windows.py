"""Windows of the commit log: a window finds what its messages find one by one, in one process or in several."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.rocketmq.engine import log_windows
from kidx.rocketmq.engine.store import check_store
from kidx.rocketmq.formats import BORN_V6, STORE_V6, UNIT
from kidx.rocketmq.open import layout_and_config
from kidx.text.java import string_hash
from tests.damage import flip_byte, overwrite, set_header
from tests.rocketmq.building import big_message, write_series

TOPICS = (("Orders", 0), ("Orders", 1), ("Payments", 0), ("%RETRY%billing-of-a-rather-long-name", 3))
TAGS = ("TagA", "TagB", "x", "a-tag-that-takes-more-than-thirty-two-bytes", "Größe", "")


def properties_of(draw: random.Random, tag: str, ending: bool) -> bytes:
    """As brokers have them: keys of several lengths before TAGS, more behind, with or without a last separator."""
    parts = [f"KEYS\x01order-{draw.randrange(20_000)}"] * draw.randrange(2)
    parts += [f"TAGS\x01{tag}"] if tag else []
    parts += ["UNIQ_KEY\x01" + "7F0000010001" * 2, "WAIT\x01true"][: draw.randrange(3)]
    return "\x02".join(parts).encode() + b"\x02" * (ending and bool(parts))


def mixed_store(root: Path, seed: int, *, sys_flags: tuple[int, ...] = (0,), tags: tuple[str, ...] = TAGS) -> Path:
    """A store of several queues that take turns, bodies of many sizes, all of them sound."""
    draw = random.Random(seed)
    log, units = bytearray(), {queue: bytearray() for queue in TOPICS}
    ending = draw.random() < 0.5
    for _ in range(300):
        queue = draw.choice(TOPICS)
        tag = draw.choice(tags)
        body = draw.randbytes(draw.choice((0, 1, 20, 200, 900, 9000)))
        place = *queue, len(units[queue]) // UNIT.size, len(log)
        data = big_message(place, body, properties_of(draw, tag, ending), draw.choice(sys_flags))
        units[queue] += UNIT.struct.pack(len(log), len(data), string_hash(tag))
        log += data
    write_series(root / "commitlog", bytes(log), 1 << 21)
    for (topic, queue_id), data in units.items():
        write_series(root / "consumequeue" / topic / str(queue_id), bytes(data), 400 * UNIT.size)
    return root


def findings(store: Path, jobs: int = 1) -> list[Finding]:
    checked = check_store(*layout_and_config(str(store), None, ()), jobs=jobs)
    assert not checked.unread
    assert checked.coverage.batches > 200
    return checked.findings


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_windows, "WINDOW_BYTES", 5000)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "sys_flags", [(0,), (0,) * 40 + (BORN_V6, STORE_V6, BORN_V6 | STORE_V6)], ids=["IPv4", "some IPv6"]
)
def test_sound_stores_have_no_findings(seed: int, sys_flags: tuple[int, ...], tmp_path: Path) -> None:
    assert findings(mixed_store(tmp_path, seed, sys_flags=sys_flags)) == []


def test_many_tags(tmp_path: Path) -> None:
    assert findings(mixed_store(tmp_path, 7, tags=tuple(f"tag-{n}" for n in range(290)))) == []


@pytest.mark.parametrize("seed", range(20))
def test_a_window_finds_what_its_messages_one_by_one_do(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, draw = mixed_store(tmp_path, seed % 5), random.Random(seed)
    files = sorted(p for p in store.rglob("0*") if p.is_file())
    log = files[0]
    used = len(log.read_bytes().rstrip(b"\0"))
    for _ in range(draw.choice((1, 1, 2, 5))):
        path = draw.choice((log, draw.choice(files)))
        at = draw.randrange(used if path == log else 60 * UNIT.size)
        if draw.random() < 0.7:
            flip_byte(path, at, draw.randrange(1, 256))
        else:
            overwrite(path, at, draw.choice((bytes(4), b"\xff" * 4, draw.randbytes(30), b"TAGS\x01TagB\x02")))
    small, forked = findings(store), findings(store, jobs=2)
    monkeypatch.setattr(log_windows, "WINDOW_BYTES", 1)
    assert small == forked == findings(store)


def test_a_damaged_unit_makes_no_large_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = mixed_store(tmp_path, 1)
    path = store / "consumequeue" / "Orders" / "0" / f"{0:020d}"
    set_header(path, 3 * UNIT.size, UNIT, size=100_000)
    lengths: list[int] = []
    read_into = Evidence.read_into

    def reading(evidence: Evidence, position: int, data: memoryview) -> int:
        lengths.append(len(data))
        return read_into(evidence, position, data)

    monkeypatch.setattr(Evidence, "read_into", reading)
    assert {one.rule for one in findings(store)} == {"KXR123"}
    assert not any(100_000 <= length < 120_000 for length in lengths)
