"""Differential fuzzing: Kafka's own tool, recovery and start on one side, kidx on the other, a mutated file at a time.

A seed alone decides the file and the mutation. What the answers mean is judged in tests/interop/differences.py.
"""

from __future__ import annotations

import base64
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kidx.logdir.names import INDEX_OF_KIND, LOG, METADATA_SNAPSHOT, PRODUCER_SNAPSHOT
from tests.fuzz.corpus import Case, kafka_cases, kind_of
from tests.fuzz.mutate import Mutated, mutate
from tests.interop.lab import Program
from tests.support import Ran, kidx_here

JUDGE = Path(__file__).with_name("KafkaJudge.java")
TOOL, DEEP, PRINT = "DumpLogSegments", "DumpLogSegments --deep-iteration", "DumpLogSegments --print-data-log"
BESIDE = "DumpLogSegments of the indexes beside it"
RECOVERY, START = "LogSegment.recover", "a start without recovery"
_SHARES = {LOG: 60, METADATA_SNAPSHOT: 3, PRODUCER_SNAPSHOT: 7, "leader_epochs": 4, "offset_index": 9, "time_index": 11}
_SHARES |= {"transaction_index": 6}
_COMPLAINTS = {
    "invalid bytes at the end": re.compile(rb"^Found \d+ invalid bytes at the end of ", re.M),
    "isvalid: false": re.compile(rb" isvalid: false| isValid: false"),
    "index mismatch": re.compile(rb"^Mismatches in :", re.M),
    "timestamp mismatch": re.compile(rb"^Found timestamp mismatch in :", re.M),
    "timestamp out of order": re.compile(rb"^Found out of order timestamp in :", re.M),
    "offset not found": re.compile(rb"^The following indexed offsets are not found in :", re.M),
    "non-consecutive offsets": re.compile(rb"^Non-consecutive offsets in ", re.M),
    "snapshot refused": re.compile(rb"^Snapshot (?:is corrupt|failed schema validation)", re.M),
}


class Verdict(NamedTuple):
    """kidx's: exit status, and the rules found by severity ("error KX303")."""

    status: int
    rules: frozenset[str]


class Seen(NamedTuple):
    """What was said of one mutated file.

    `kafka` maps questions to complaints, `unharmed` the same for the file as it was; `texts` the dumps that should be
    alike to whether they are.
    """

    seed: int
    case: Case
    name: str
    mutated: Mutated
    kafka: dict[str, frozenset[str]]
    unharmed: dict[str, frozenset[str]]
    default: Verdict
    deep: Verdict
    texts: dict[str, bool]

    @property
    def kind(self) -> str:
        """What the file is."""
        return kind_of(self.name)

    def complaints(self) -> Iterator[tuple[str, str]]:
        """Questions and complaints that the mutation brought."""
        for question, said in self.kafka.items():
            for complaint in sorted(said - self.unharmed.get(question, frozenset())):
                yield question, complaint

    def verdict(self, question: str) -> Verdict:
        """kidx's verdict at the depth of a question: records are looked into where Kafka looks into them.

        DumpLogSegments does so for a time index.
        """
        return self.deep if question in (DEEP, BESIDE) else self.default


class Dumped(NamedTuple):
    """The tool's streams, and what it threw: class and message, "" for nothing."""

    out: bytes
    err: bytes
    threw: str


class Judge:
    """The Java side."""

    def __init__(self) -> None:
        self._program = Program(JUDGE)

    def close(self) -> None:
        self._program.close()

    def dump(self, path: Path | str, *options: str) -> Dumped:
        """DumpLogSegments' answer."""
        out, err, threw = self._program.ask("dump", *options, "--files", path)
        return Dumped(base64.b64decode(out), base64.b64decode(err), _thrown(threw))

    def recover(self, home: Path, base: int) -> frozenset[str]:
        """Complaints of LogSegment.recover, which writes the directory's indexes anew."""
        topic, _, partition = home.name.rpartition("-")
        cut, threw = self._program.ask("recover", home, base, topic, partition)
        if threw:
            return frozenset({f"throws {_thrown(threw).partition(' ')[0]}"})
        return frozenset({"truncates"} if cut != "0" else ())

    def load(self, home: Path, base: int) -> frozenset[str]:
        """Complaints of what a start reads where it recovers nothing."""
        topic, _, partition = home.name.rpartition("-")
        said = self._program.ask("load", home, base, topic, partition)
        return frozenset(" throws ".join(one.split(" ")[:2]) for one in said if one)


def _thrown(text: str) -> str:
    name, _, message = text.partition(" ")
    return f"{name} {base64.b64decode(message).decode()}" if name else ""


class Comparison:
    """The cases, and for each what Kafka says of it unharmed."""

    def __init__(self, root: Path, judge: Judge) -> None:
        self.root, self.judge = root, judge
        self._by_kind: dict[str, list[tuple[Case, str]]] = {}
        for case in kafka_cases():
            has_log = any(name.endswith(".log") for name in case.files)
            for name in case.files:
                kind = kind_of(name)
                if kind in _SHARES and name != "bootstrap.checkpoint" and (has_log or kind == METADATA_SNAPSHOT):
                    self._by_kind.setdefault(kind_of(name), []).append((case, name))
        self._donors = [case.files[name] for case, name in self._by_kind[LOG]]
        self._unharmed: dict[tuple[str, str], dict[str, frozenset[str]]] = {}

    def shot(self, seed: int) -> tuple[Case, str, Mutated]:
        """The seed's case, file and mutation."""
        chance = random.Random(f"differential {seed}")
        kind = chance.choices(list(_SHARES), list(_SHARES.values()))[0]
        case, name = chance.choice(self._by_kind[kind])
        return case, name, mutate(case.files[name], kind, chance, self._donors)

    def see(self, seed: int) -> Seen:
        """Ask both about the seed's file."""
        case, name, mutated = self.shot(seed)
        key = case.name, name
        if key not in self._unharmed:
            home = self._lay_out(case)
            self._unharmed[key], _ = self._kafka(home, name)
        home = self._lay_out(case, name, mutated.data)
        default, deep = (
            _verdict(kidx_here("verify", "--jobs", 1, "--format", "jsonl", *level, home)) for level in ([], ["--deep"])
        )
        mine = {
            question: kidx_here("dump", "--format", "kafka", *options, home / name)
            for question, options in _dumps(name)
        }
        said, dumps = self._kafka(home, name)
        texts = {question: _same_text(theirs, mine[question]) for question, theirs in dumps.items()}
        return Seen(seed, case, name, mutated, said, self._unharmed[key], default, deep, texts)

    def _lay_out(self, case: Case, name: str = "", data: bytes = b"") -> Path:
        shutil.rmtree(self.root, ignore_errors=True)
        return case._replace(name="case", files=case.files | ({name: data} if name else {})).lay_out(self.root)

    def _kafka(self, home: Path, name: str) -> tuple[dict[str, frozenset[str]], dict[str, Dumped]]:
        dumps = {question: self.judge.dump(home / name, *options) for question, options in _dumps(name)}
        said = {question: _complaints(dump) for question, dump in dumps.items()}
        said.pop(PRINT, None)
        if kind_of(name) == LOG:
            indexes = ",".join(str(path) for path in sorted(home.glob("*index")))
            said[BESIDE] = _complaints(self.judge.dump(indexes))
        if kind_of(name) != METADATA_SNAPSHOT:
            base = min(int(path.stem) for path in home.glob("*.log"))
            said[START] = self.judge.load(home, base)
            said[RECOVERY] = self.judge.recover(home, base)
        return said, dumps


def _dumps(name: str) -> list[tuple[str, list[str]]]:
    """The dumps to ask for of a file: question and options."""
    kind = kind_of(name)
    if kind in (LOG, METADATA_SNAPSHOT):
        return [(TOOL, []), (DEEP, ["--deep-iteration"]), (PRINT, ["--print-data-log"])]
    return [(TOOL, [])] if kind in (*INDEX_OF_KIND, PRODUCER_SNAPSHOT) else []


def _complaints(dump: Dumped) -> frozenset[str]:
    said = {what for what, pattern in _COMPLAINTS.items() if pattern.search(dump.out) or pattern.search(dump.err)}
    if dump.threw:
        said.add(f"throws {dump.threw.partition(' ')[0]}")
    return frozenset(said)


def _verdict(ran: Ran) -> Verdict:
    assert ran.status in (0, 1, 3), ran
    return Verdict(ran.status, frozenset(f"{row['severity']} {row['rule']}" for row in ran.rows[:-1]))


def _same_text(theirs: Dumped, mine: Ran) -> bool:
    """Whether kidx printed what the tool did, up to where that threw; its complaints go to standard error."""
    if theirs.threw:
        return mine.out.startswith(theirs.out[: theirs.out.rfind(b"\n") + 1])
    said = b"".join(line for line in mine.err.splitlines(keepends=True) if not line.startswith(b"kidx: "))
    return mine.out == theirs.out and said == theirs.err
