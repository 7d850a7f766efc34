"""Several seeds' scenarios in one broker, from their making to its recovery, compared at every stage.

One broker and one JVM with Kafka's classes serve them all: starting those takes longer than asking them.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.interop.lab import HERE, STANDARD_SEARCH, Broker, Program
from tests.interop.ledger import Ledger
from tests.interop.questions import Case, rows, verified
from tests.interop.questions.compaction import DEDUPE_BUFFER_BYTES, cleaned, plan
from tests.interop.questions.dumps import dumps
from tests.interop.questions.live import groups, live
from tests.interop.questions.maps import maps
from tests.interop.questions.reads import aborted, reads
from tests.interop.questions.rebuilt import rebuilt
from tests.interop.questions.recovery import crashed
from tests.interop.questions.searches import searches
from tests.interop.questions.writes import writes
from tests.interop.scenario import Scenario

INTERNAL = ("__consumer_offsets-0", "__transaction_state-0", "__cluster_metadata-0")
_SETTINGS = {
    "log_cleaner_dedupe_buffer_size": DEDUPE_BUFFER_BYTES,
    "log_cleaner_backoff_ms": 300,
    "log_initial_task_delay_ms": 500,
    "replica_high_watermark_checkpoint_interval_ms": 300,
    "log_flush_start_offset_checkpoint_interval_ms": 300,
    "offsets_topic_segment_bytes": 1 << 20,
    "transaction_state_log_segment_bytes": 1 << 20,
}
_SETTLED_SECONDS = 2
_WRITES, _MAPS = 25, 4


def fly(seeds: list[int], root: Path) -> dict[int, Ledger]:
    """Compare everything about Kafka that the seeds make; a ledger for each seed. `root` is an empty directory."""
    ledgers = {seed: Ledger() for seed in seeds}
    scenarios = [Scenario(seed) for seed in seeds]
    with Broker(root / "broker", **_SETTINGS) as broker, _programs() as programs:
        client = broker.start()
        for scenario in scenarios:
            scenario.make(client)
        time.sleep(_SETTLED_SECONDS)  # markers and checkpoints are written a little after they are answered
        for scenario in scenarios:
            _while_it_runs(scenario, client, ledgers[scenario.seed], broker.data)
        plans = [(plan(t, broker.data), ledgers[s.seed]) for s in scenarios for t in s.topics if "compacted" in t.name]
        cleaned(client, plans, broker.data)
        broker.stop()
        for scenario in scenarios:
            _after_it_stopped(
                scenario, programs, ledgers[scenario.seed], broker.data, root / f"stopped-{scenario.seed}"
            )
        _internal_topics(scenarios[0], programs, ledgers[seeds[0]], broker.data, root / "internal")
        crashed([(s, ledgers[s.seed]) for s in scenarios], broker, programs.kafka, root / "crashed")
    return ledgers


class Programs(NamedTuple):
    """Kafka's storage classes, and the search before KAFKA-6432."""

    kafka: Program
    old: Program


@contextmanager
def _programs() -> Iterator[Programs]:
    kafka = Program(HERE / "KafkaStorage.java")
    old = Program(HERE / "KafkaStandardSearch.java", version=STANDARD_SEARCH)
    try:
        yield Programs(kafka, old)
    finally:
        kafka.close()
        old.close()


def _while_it_runs(scenario: Scenario, client: Program, ledger: Ledger, log_dir: Path) -> None:
    for topic in scenario.topics:
        partition = log_dir / topic.partition
        before = _touchable(partition)
        verified(ledger, partition, "--live")
        verified(ledger, partition, "--live", "--deep")
        rows("dump", partition)
        ledger.compare("untouched", ("verify", partition, "--live"), _touchable(partition), before)
        live(client, ledger, scenario.chance, partition, slices="txn" not in topic.name)
    groups(client, ledger, log_dir, scenario.groups)


def _touchable(directory: Path) -> list[tuple[object, ...]]:
    """All that reading could change, were it not careful."""
    found = [(entry.name, entry.stat()) for entry in os.scandir(directory)]
    return sorted((name, s.st_ino, s.st_size, s.st_mtime_ns, s.st_atime_ns, s.st_mode) for name, s in found)


def _after_it_stopped(scenario: Scenario, programs: Programs, ledger: Ledger, log_dir: Path, scratch: Path) -> None:
    chance = scenario.chance
    for topic in scenario.topics:
        case = _case(programs, ledger, chance, log_dir / topic.partition, scratch / topic.name, topic.interval)
        verified(ledger, case.partition)
        for ask in (dumps, searches, reads, aborted, rebuilt):
            ask(case)
    for ask, count in ((writes, _WRITES), (maps, _MAPS)):
        place = scratch / ask.__name__
        place.mkdir()
        ask(programs.kafka, ledger, chance, place, count)
    shutil.rmtree(scratch)


def _internal_topics(scenario: Scenario, programs: Programs, ledger: Ledger, log_dir: Path, scratch: Path) -> None:
    for name in INTERNAL:
        case = _case(programs, ledger, scenario.chance, log_dir / name, scratch / name, 4096)
        for ask in (dumps, searches):
            ask(case)


def _case(
    programs: Programs, ledger: Ledger, chance: random.Random, partition: Path, scratch: Path, interval: int
) -> Case:
    copy = scratch / "copy"
    shutil.copytree(partition, copy / partition.name)
    return Case(*programs, ledger, chance, partition, copy / partition.name, scratch, interval)
