"""What a real log cleaner keeps, compared with the plan made before it ran."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.lab import Program
from tests.interop.ledger import Ledger
from tests.interop.questions import rows
from tests.interop.scenario import Topic

DEDUPE_BUFFER_BYTES = 4 << 20
_PATIENCE_SECONDS = 120


@dataclass
class Planned:
    """A plan for a partition, made while its topic was not yet compacted."""

    topic: Topic
    records: list[dict[str, Any]]
    segments: list[dict[str, Any]]
    summary: dict[str, Any]
    uncompressed: bool

    @property
    def cleans(self) -> bool:
        """Whether there is anything to clean."""
        return bool(self.summary["first_uncleanable"] > self.summary["first_dirty"])

    @property
    def kept(self) -> set[int]:
        """The offsets of records that a consumer will still find."""
        return {row["offset"] for row in self.records if row["kept"] and row["why"] != "control"}


def plan(topic: Topic, log_dir: Path) -> Planned:
    """What kidx expects of the cleaner."""
    directory = log_dir / topic.partition
    sizes = ["--segment-bytes", topic.configs["internal.segment.bytes"]]
    sizes += ["--index-bytes", topic.configs["segment.index.bytes"]]
    asked = ["compact", directory, "--plan", "--dedupe-buffer", DEDUPE_BUFFER_BYTES, *sizes]
    *segments, summary = rows(*asked)
    *records, _ = rows(*asked, "--records")
    codecs = {row["codec"] for log in directory.glob("*.log") for row in rows("dump", log)}
    return Planned(topic, records, segments, summary, codecs <= {"none"})


def cleaned(client: Program, plans: list[tuple[Planned, Ledger]], log_dir: Path) -> None:
    """Let the cleaner run over all planned topics, and compare what it left."""
    for planned, _ in plans:
        client.ask("alter", planned.topic.name, "cleanup.policy=compact")
    deadline = time.monotonic() + _PATIENCE_SECONDS
    expected = {planned.topic.name: planned.summary["cleaned_up_to"] for planned, _ in plans if planned.cleans}
    while not expected.items() <= _cleaned_up_to(log_dir).items() and time.monotonic() < deadline:
        time.sleep(0.3)
    reached = _cleaned_up_to(log_dir)
    for planned, ledger in plans:
        name, partition = planned.topic.name, log_dir / planned.topic.partition
        if planned.cleans:
            ledger.compare("compaction.to", ("compact", partition), expected[name], reached.get(name))
        start = client.ask("offsets", name, 0)[0]
        said = client.ask("contents", name, 0, start, "read_uncommitted")[0]
        real = {int(each.partition(":")[0]) for each in said.split(",") if each}
        ledger.compare("compaction", ("compact", partition, "--plan --records"), sorted(planned.kept), sorted(real))
        if planned.uncompressed:
            _sizes(planned, ledger, partition)


def _cleaned_up_to(log_dir: Path) -> dict[str, int]:
    """By topic, the offset that the cleaner has reached."""
    path = log_dir / "cleaner-offset-checkpoint"
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.split()[0]: int(line.split()[2]) for line in lines if line.count(" ") == 2}


def _sizes(planned: Planned, ledger: Ledger, partition: Path) -> None:
    """Segments and their sizes; nothing was recompressed, so the plan's are no estimates."""
    expected: dict[int, int] = {}
    for row in planned.segments:
        into = row["segment"] if row["group"] is None else row["group"]
        expected[into] = expected.get(into, 0) + row["bytes_after"]
    real = {int(log.stem): log.stat().st_size for log in partition.glob("*.log")}
    ledger.compare("compaction.sizes", ("compact", partition, "--plan"), sorted(expected.items()), sorted(real.items()))
