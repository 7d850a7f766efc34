"""Damaged stores that a real RocketMQ loads: its answers compared with those of kidx's recovery in memory."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kidx.rocketmq.broker_version import CLASSIC
from kidx.rocketmq.java import JavaThrows
from kidx.rocketmq.open import open_store
from kidx.rocketmq.pull import pull
from kidx.rocketmq.queues import ConsumeQueue
from kidx.rocketmq.store import DoesNotLoad, Store
from kidx.rocketmq.time_search import Search
from tests.interop.lab import Program, Unavailable
from tests.interop.rocketmq_lab import damage, rocketmq
from tests.rocketmq.cases import SETS, lay_out

pytestmark = pytest.mark.interop
RATIO = 40  # accessMessageInMemoryMaxRatio


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Program]]:
    """The real store's program of a version, started once."""
    started: dict[str, Program] = {}

    def of(version: str) -> Program:
        if version not in started:
            try:
                started[version] = rocketmq(version, tmp_path_factory.mktemp("home"))
            except Unavailable as e:
                pytest.skip(str(e))
        return started[version]

    yield of
    for program in started.values():
        program.close()


@pytest.mark.parametrize("fixtures", SETS, ids=lambda p: p.name)
@pytest.mark.parametrize("case", ["duplicates", "preblank", "expired_files", "unclean_cq_behind"])
@pytest.mark.parametrize("seed", range(2))
def test_answers_about_damaged_stores(
    programs: Callable[[str], Program], fixtures: Path, case: str, seed: int, tmp_path: Path
) -> None:
    version = fixtures.name.removeprefix("rocketmq-")
    store = lay_out(fixtures / case, tmp_path)
    names = sorted((p.parent.name, int(p.name)) for p in (store / "consumequeue").glob("*/*"))
    chance = random.Random(f"{case}{seed}")
    damage(store, chance)
    times = [0, *(int(line.split('"storeTimestamp": ')[1].split(",")[0]) for line in _told(fixtures / case)), 2**60]
    boundaries = ("-",) if version.startswith("4") else ("LOWER", "UPPER")
    questions = []
    for topic, queue_id in names:
        questions += [
            f"range\t{topic}\t{queue_id}",
            *(f"pull\t{topic}\t{queue_id}\t{n}\t9\t-\t{RATIO}" for n in (0, 7, 40)),
        ]
        for time in chance.sample(times, 12):
            questions += [f"time\t{topic}\t{queue_id}\t{time + 1}\t{b}" for b in boundaries]
    program, config = programs(version), str(store.parent / "store.properties")
    memory = int(int(program.ask("memory")[0]) * (RATIO / 100.0))
    program.ask("open", shutil.copytree(store, tmp_path / "asked"), config)
    answers = ["\t".join(program.ask(*question.split("\t"))) for question in questions]
    try:
        loaded = open_store(str(store), config=config, version=version)
        loaded.check_loads()
    except DoesNotLoad:
        assert set(answers) == {"!NotLoaded"}
        return
    wrong = [(q, a) for q, a in zip(questions, answers, strict=True) if (_own(loaded, q.split("\t"), memory)) != a]
    assert not wrong, [(q, a, _own(loaded, q.split("\t"), memory)) for q, a in wrong[:5]]


def _told(case: Path) -> list[str]:
    return [line for line in (case / "messages.jsonl").read_text().splitlines() if "storeTimestamp" in line]


def _own(store: Store, asked: list[str], memory: int) -> str:
    verb, topic, queue_id = asked[0], asked[1], int(asked[2])
    queue = store.queue(topic, queue_id)
    try:
        if verb == "pull":
            got = pull(store, topic, queue_id, int(asked[3]), int(asked[4]), memory)
            return f"{got.status}\t{got.next_offset}\t{got.messages}\t{got.bytes}\t{str(got.suggest_slave).lower()}"
        if verb == "range":
            return f"{queue.min_offset}\t{queue.max_offset}" if queue else "0\t0"
        if not isinstance(queue, ConsumeQueue):
            return "0"
        search = Search(queue, store.log, checks_end=store.version.checks_log_end)
        if store.version.algorithm == CLASSIC:
            return str(search.classic(int(asked[3]), clamp=store.five))
        return str(search.current(int(asked[3]), asked[4].lower()))
    except JavaThrows as e:
        return "!" + e.name
