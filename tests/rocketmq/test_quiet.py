"""Stretches told quietly: what is sound is, and whatever is not is found exactly as if all were looked at in full."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kidx.findings import Finding
from kidx.rocketmq.checks import log_scan
from kidx.rocketmq.checks.quiet import QuietLog
from kidx.rocketmq.checks.run import check_store
from kidx.rocketmq.formats import BORN_V6, STORE_V6, UNIT
from kidx.rocketmq.java import string_hash
from kidx.rocketmq.open import layout_and_config
from tests.damage import flip_byte, overwrite
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
    """A store of several queues that take turns, bodies of many sizes, most stretches of them sound."""
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
    monkeypatch.setattr(log_scan, "WINDOW_BYTES", 5000)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each stretch that is checked in this process was told quietly."""
    seen: list[bool] = []
    tell = QuietLog.tell

    def telling(log: QuietLog, part: tuple[int, int]) -> tuple[int, ...] | None:
        seen.append((answer := tell(log, part)) is not None)
        return answer

    monkeypatch.setattr(QuietLog, "tell", telling)
    return seen


@pytest.mark.parametrize("seed", range(3))
def test_sound_stores_are_told_quietly(seed: int, tmp_path: Path, told: list[bool]) -> None:
    assert findings(mixed_store(tmp_path, seed)) == []
    assert len(told) > 10
    assert all(told)


@pytest.mark.parametrize("seed", range(2))
def test_what_it_does_not_know_is_looked_at_in_full(seed: int, tmp_path: Path, told: list[bool]) -> None:
    store = mixed_store(tmp_path, seed, sys_flags=(0,) * 40 + (BORN_V6, STORE_V6, BORN_V6 | STORE_V6))
    assert findings(store) == []
    assert {True, False} == set(told)


def test_many_tags(tmp_path: Path, told: list[bool]) -> None:
    assert findings(mixed_store(tmp_path, 7, tags=tuple(f"tag-{n}" for n in range(290)))) == []
    assert any(told)


@pytest.mark.parametrize("seed", range(20))
def test_damage_is_found_as_if_all_were_looked_at_in_full(
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
    quiet, forked = findings(store), findings(store, jobs=2)
    monkeypatch.setattr(QuietLog, "tell", lambda log, part: None)
    assert quiet == forked == findings(store)
