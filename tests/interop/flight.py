"""Several seeds' scenarios in one broker, from their making to its recovery, compared at every stage.

One broker and one JVM with Kafka's classes serve them all: starting those takes longer than asking them.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interop.lab import HERE, Broker, Program
from tests.interop.ledger import Ledger
from tests.interop.questions import Case, rows, run
from tests.interop.questions.compaction import DEDUPE_BUFFER_BYTES, cleaned, plan
from tests.interop.questions.dumps import dumps
from tests.interop.questions.live import groups, live
from tests.interop.questions.maps import maps
from tests.interop.questions.reads import aborted, reads
from tests.interop.questions.rebuilt import INDEXES, rebuilt, recovered
from tests.interop.questions.searches import searches
from tests.interop.questions.writes import writes
from tests.interop.scenario import Scenario, Topic

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
_RECOVERY_FAILS = (b"recovery fails", b"does not fit the base offset", b"offsets are before those")


def fly(seeds: list[int], root: Path) -> dict[int, Ledger]:
    """Compare everything about Kafka that the seeds make; a ledger for each seed. `root` is an empty directory."""
    ledgers = {seed: Ledger() for seed in seeds}
    scenarios = [Scenario(seed) for seed in seeds]
    with Broker(root / "broker", **_SETTINGS) as broker, _program() as kafka:
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
            _after_it_stopped(scenario, kafka, ledgers[scenario.seed], broker.data, root / f"stopped-{scenario.seed}")
        _internal_topics(scenarios[0], kafka, ledgers[seeds[0]], broker.data, root / "internal")
        _after_it_crashed(scenarios, broker, kafka, ledgers, root / "crashed")
    return ledgers


@contextmanager
def _program() -> Iterator[Program]:
    program = Program(HERE / "KafkaStorage.java")
    try:
        yield program
    finally:
        program.close()


def _while_it_runs(scenario: Scenario, client: Program, ledger: Ledger, log_dir: Path) -> None:
    for topic in scenario.topics:
        partition = log_dir / topic.partition
        before = _touchable(partition)
        _verified(ledger, partition, "--live")
        _verified(ledger, partition, "--live", "--deep")
        rows("dump", partition)
        ledger.compare("untouched", ("verify", partition, "--live"), _touchable(partition), before)
        live(client, ledger, scenario.chance, partition, slices="txn" not in topic.name)
    groups(client, ledger, log_dir, scenario.groups)


def _touchable(directory: Path) -> list[tuple[object, ...]]:
    """All that reading could change, were it not careful."""
    found = [(entry.name, entry.stat()) for entry in os.scandir(directory)]
    return sorted((name, s.st_ino, s.st_size, s.st_mtime_ns, s.st_atime_ns, s.st_mode) for name, s in found)


def _verified(ledger: Ledger, directory: Path, *options: str) -> None:
    """What a broker wrote and keeps has no finding that counts."""
    question = ("verify", directory, *options)
    found = [row for row in rows(*question) if row.get("severity") in ("error", "warning")]
    ledger.compare("verify", question, found, [])


def _after_it_stopped(scenario: Scenario, kafka: Program, ledger: Ledger, log_dir: Path, scratch: Path) -> None:
    chance = scenario.chance
    for topic in scenario.topics:
        case = _case(kafka, ledger, chance, log_dir / topic.partition, scratch / topic.name, topic.interval)
        _verified(ledger, case.partition)
        for ask in (dumps, searches, reads, aborted, rebuilt):
            ask(case)
    for ask, count in ((writes, _WRITES), (maps, _MAPS)):
        place = scratch / ask.__name__
        place.mkdir()
        ask(kafka, ledger, chance, place, count)
    shutil.rmtree(scratch)


def _internal_topics(scenario: Scenario, kafka: Program, ledger: Ledger, log_dir: Path, scratch: Path) -> None:
    for name in INTERNAL:
        case = _case(kafka, ledger, scenario.chance, log_dir / name, scratch / name, 4096)
        for ask in (dumps, searches):
            ask(case)


def _case(kafka: Program, ledger: Ledger, chance: random.Random, partition: Path, scratch: Path, interval: int) -> Case:
    copy = scratch / "copy"
    shutil.copytree(partition, copy / partition.name)
    return Case(kafka, ledger, chance, partition, copy / partition.name, scratch, interval)


def _after_it_crashed(
    scenarios: list[Scenario], broker: Broker, kafka: Program, ledgers: dict[int, Ledger], scratch: Path
) -> None:
    """More is written, the broker killed, tails of logs damaged: its recovery makes the indexes that kidx makes."""
    client = broker.start()
    for scenario in scenarios:
        scenario.add(client)
    broker.stop(signal.SIGKILL)
    expected: list[tuple[Ledger, Path, bytes]] = []
    whole: list[tuple[Ledger, Path]] = []
    for scenario in scenarios:
        for topic in scenario.topics:
            partition, ledger = broker.data / topic.partition, ledgers[scenario.seed]
            _damage_tail(sorted(partition.glob("*.log"))[-1], scenario.chance)
            rebuilt = _rebuilt(topic, partition, scratch / "ours" / str(scenario.seed))
            fails = _recovery_fails(kafka, topic, partition, scratch / "theirs" / partition.name)
            ledger.compare("recovery.fails", ("rebuild", partition), rebuilt is None, fails)
            if fails or rebuilt is None:
                shutil.rmtree(partition)  # with it the broker would not start
                continue
            whole.append((ledger, partition))
            expected += [(ledger, path, data) for path, data in rebuilt.items()]
    broker.start()
    broker.stop()
    for ledger, path, data in expected:
        if not path.with_suffix(".log").exists():
            continue  # cut below the log start offset: then a broker begins the log anew
        real = path.read_bytes() if path.exists() else b""
        ledger.compare("recovery", ("rebuild", path), data.hex(), real.hex())
    for ledger, partition in whole:
        _verified(ledger, partition)


def _damage_tail(log: Path, chance: random.Random) -> None:
    size = log.stat().st_size
    at = size - chance.randrange(min(size, 3000) + 1)
    how = chance.choice(("cut", "flip", "zeros", "leave"))
    if how == "cut":
        os.truncate(log, at)
    elif how == "zeros":
        with log.open("ab") as f:
            f.write(bytes(chance.randrange(1, 5000)))
    elif how == "flip" and at < size:
        data = bytearray(log.read_bytes())
        data[at] ^= 1 << chance.randrange(8)
        log.write_bytes(data)


def _rebuilt(topic: Topic, partition: Path, output: Path) -> dict[Path, bytes] | None:
    """The last segment's indexes as kidx makes them: that one a broker always recovers after a crash.

    None where kidx says what recovery fails at: no room in an index, or offsets that do not go into one.
    """
    sizes = ["--index-interval-bytes", topic.interval, "--max-index-size", topic.configs["segment.index.bytes"]]
    ran = run("rebuild", partition, "--output", output, *sizes)
    if any(reason in ran.err + ran.out for reason in _RECOVERY_FAILS):
        return None
    assert ran.status == 0, ran.err
    last = sorted(partition.glob("*.log"))[-1]
    made = {last.with_suffix(s): output / partition.name / (last.stem + s) for s in INDEXES}
    return {path: new.read_bytes() if new.exists() else b"" for path, new in made.items()}


def _recovery_fails(kafka: Program, topic: Topic, partition: Path, scratch: Path) -> bool:
    """Whether LogSegment.recover throws for a segment, in copies of them."""
    index_bytes = int(str(topic.configs["segment.index.bytes"]))
    for log in sorted(partition.glob("*.log")):
        try:
            recovered(kafka, log, scratch / log.stem, topic.interval, index_bytes)
        except RuntimeError:
            return True
    return False
