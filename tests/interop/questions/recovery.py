"""A broker's own recovery after a crash, compared with `kidx rebuild` of the same files."""

from __future__ import annotations

import os
import random
import shutil
import signal
from pathlib import Path

from tests.interop.lab import Broker, Program
from tests.interop.ledger import Ledger
from tests.interop.questions import run, verified
from tests.interop.questions.rebuilt import INDEXES, recovered
from tests.interop.scenario import Scenario, Topic

# What kidx says where a broker's recovery throws, and the broker does not start.
_RECOVERY_FAILS = (b"recovery fails", b"does not fit the base offset", b"offsets are before those")
# Recovery takes any magic above 2 for 2, and keeps a batch that no consumer can read; kidx ends there.
_ENDS_EARLIER = b"its magic byte is"


def crashed(scenarios: list[tuple[Scenario, Ledger]], broker: Broker, kafka: Program, scratch: Path) -> None:
    """More is written, the broker killed, tails of logs damaged: its recovery makes the indexes that kidx makes."""
    client = broker.start()
    for scenario, _ in scenarios:
        scenario.add(client)
    broker.stop(signal.SIGKILL)
    expected: list[tuple[Ledger, Path, bytes]] = []
    whole: list[tuple[Ledger, Path]] = []
    for scenario, ledger in scenarios:
        for topic in scenario.topics:
            partition = broker.data / topic.partition
            how = _damage_tail(sorted(partition.glob("*.log"))[-1], scenario.chance)
            rebuilt = _rebuilt(topic, partition, scratch / "ours" / str(scenario.seed))
            fails = _recovery_fails(kafka, topic, partition, scratch / "theirs" / partition.name)
            ledger.compare("recovery.fails", ("rebuild", partition), rebuilt is None, fails)
            if fails or rebuilt is None:
                shutil.rmtree(partition)  # with it the broker would not start
                continue
            if not rebuilt:
                continue
            if how != "flip":  # which may have hit what no CRC covers, and stay
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
        verified(ledger, partition)


def _damage_tail(log: Path, chance: random.Random) -> str:
    """Cut the end of a log, flip a bit there, add zeros, or leave it; which of them."""
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
    return how


def _rebuilt(topic: Topic, partition: Path, output: Path) -> dict[Path, bytes] | None:
    """The last segment's indexes as kidx makes them: that one a broker always recovers after a crash.

    None where kidx says what recovery fails at: no room in an index, or offsets that do not go into one. Nothing where
    kidx ends at what recovery passes over.
    """
    sizes = ["--index-interval-bytes", topic.interval, "--max-index-size", topic.configs["segment.index.bytes"]]
    ran = run("rebuild", partition, "--output", output, *sizes)
    if any(reason in ran.err + ran.out for reason in _RECOVERY_FAILS):
        return None
    if _ENDS_EARLIER in ran.out:
        return {}
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
