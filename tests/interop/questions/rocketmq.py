"""RocketMQ's answers: ends and ranges, messages, time searches, pulls, look-ups by key."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from tests.interop.lab import Program
from tests.interop.ledger import Ledger
from tests.interop.questions import rows, run
from tests.interop.rocketmq_lab import MadeStore, share_a_file
from tests.support import Ran

_TIMES, _PULLS, _KEYS = 24, 8, 12
_NAMES = (
    "topic", "queue_id", "queue_offset", "physical_offset", "store_timestamp", "born_timestamp", "born_host",
    "store_host", "flag", "sys_flag", "reconsume_times", "prepared_transaction_offset", "body_crc",
)  # fmt: skip


def stores(program: Program, version: str, ledger: Ledger, chance: random.Random, scratch: Path) -> None:
    """A new store, asked as it was written, and once more after some damage."""
    made = MadeStore(program, chance, scratch / f"rocketmq-{version}")
    if not made.crashed and not made.raced:
        question = ("rocketmq verify", made.store)
        found = [row for row in rows("rocketmq", "verify", made.store, "--config", made.properties) if "rule" in row]
        errors = [row for row in found if row["severity"] == "error"]
        ledger.compare("rocketmq verify", question, errors, [])
    Asked(program, version, ledger, chance, made, "as written").all()
    made.damage()
    Asked(program, version, ledger, chance, made, "damaged").all()


class Asked:
    """One state of a store, asked by kidx where it is and by the real store in a copy."""

    def __init__(
        self, program: Program, version: str, ledger: Ledger, chance: random.Random, made: MadeStore, state: str
    ) -> None:
        self._program, self._ledger, self._chance, self._made = program, ledger, chance, made
        self._options = ("--config", made.properties, "--broker-version", version)
        self._boundaries = ("-",) if version.startswith("4") else ("LOWER", "UPPER")
        copy = made.root / f"copy {state}" / "store"
        shutil.copytree(made.store, copy)
        self._loads = program.ask("open", copy, made.properties) == ["true"]

    def all(self) -> None:
        """Everything; of a store that does not load, that it does not."""
        if not self._loads:
            ran = self._kidx("lookup", self._made.store, *self._made.queues[0], "--time", 0)
            self._ledger.compare("rocketmq.loads", ("rocketmq lookup", self._made.store), ran.status, 3)
            return
        self._messages()
        for topic, queue in [*self._made.queues, ("NoSuchTopic", 0)]:
            self._times(topic, queue)
            if topic != "NoSuchTopic":
                self._units(topic, queue)
            self._pulls(topic, queue)
        self._keys()

    def _kidx(self, command: str, *args: object) -> Ran:
        return run("rocketmq", command, *args, *self._options, "--format", "jsonl")

    def _messages(self) -> None:
        """The commit log's ends, and each message between them."""
        first, end = map(int, self._program.ask("ends"))
        (log,) = [row for row in self._kidx("stat", self._made.store).rows if row["what"] == "commit_log"]
        question = ("rocketmq stat", self._made.store)
        self._ledger.compare("rocketmq ends", question, (log["min_offset"], log["max_offset"]), (first, end))
        files = sorted((self._made.store / "commitlog").iterdir())
        messages = [row for row in rows("rocketmq", "dump", *files) if row["state"] == "message"]
        messages = [row for row in messages if first <= row["offset"] < end and row["offset"] == row["physical_offset"]]
        told = self._program.ask_many([("message", row["physical_offset"]) for row in messages])
        asked = [("rocketmq dump", row["physical_offset"]) for row in messages]
        self._ledger.compare_each("rocketmq message", asked, [_said(row) for row in messages], told)

    def _units(self, topic: str, queue: int) -> None:
        """Each unit that is served."""
        units = [unit for unit in self._program.ask("units", topic, queue)[0].split(" ") if unit]
        if not units or units[0].startswith("!"):
            return
        asked = [option for unit in units for option in ("--offset", unit.partition(":")[0])]
        found = self._kidx("lookup", self._made.store, topic, queue, *asked).rows
        ours = [
            f"{r['offset']}:{r['commit_log_offset']}:{r['size']}:{r['tag_code']}" if r["file"] else f"{r['offset']}:-"
            for r in found
        ]
        questions = [("rocketmq lookup", self._made.store, topic, queue, "--offset", unit) for unit in units]
        self._ledger.compare_each("rocketmq unit", questions, ours, units)

    def _times(self, topic: str, queue: int) -> None:
        near = [
            t + d for t in self._chance.sample(self._made.times, min(_TIMES, len(self._made.times))) for d in (-1, 0, 1)
        ]
        times = [0, 1, *self._chance.sample(near, min(_TIMES, len(near))), 2**60]
        for boundary in self._boundaries:
            options = [] if boundary == "-" else ["--boundary", boundary.lower()]
            asked = [option for time in times for option in ("--time", time)]
            found = self._kidx("lookup", self._made.store, topic, queue, *asked, *options).rows
            told = self._program.ask_many([("time", topic, queue, time, boundary) for time in times])
            for time, row, (said,) in zip(times, found, told, strict=True):
                question = ("rocketmq lookup", self._made.store, topic, queue, "--time", time, *options)
                ours = "!" if row["offset"] is None else str(row["offset"])
                self._ledger.compare("rocketmq time", question, ours, said[:1] if said.startswith("!") else said)

    def _pulls(self, topic: str, queue: int) -> None:
        first, end = map(int, self._program.ask("range", topic, queue))
        offsets = {0, first, max(first - 1, 0), end, end + 1, *(self._chance.randrange(end + 2) for _ in range(_PULLS))}
        for offset in sorted(offsets):
            most = self._chance.choice((1, 9, 32))
            total, ratio = self._chance.choice(((100, self._chance.randrange(100)), (40000, 40), (8 << 30, 40)))
            memory = int(total * (ratio / 100.0))
            told = self._program.ask("pull", topic, queue, offset, most, total, ratio)
            asked = ("--offset", offset, "--max-messages", most, "--memory", memory)
            ran = self._kidx("pull", self._made.store, topic, queue, *asked)
            (row,) = ran.rows
            names = ("status", "next_offset", "messages", "bytes", "suggest_slave")
            ours = ["!"] if row["status"] is None else [str(row[name]) for name in names]
            theirs = ["!"] if told[0].startswith("!") else [*told[:4], told[4].capitalize()]
            question = ("rocketmq pull", self._made.store, topic, queue, *asked)
            self._ledger.compare("rocketmq pull", question, ours, theirs)

    def _keys(self) -> None:
        if self._made.raced or share_a_file(self._program.ask("indexes")):
            return
        asked = self._chance.sample(self._made.keys, min(_KEYS, len(self._made.keys)))
        for topic, key in [*asked, ("Orders", "nosuchkey")]:
            middle = self._chance.choice(self._made.times)
            begin, end = self._chance.choice(((0, 2**62), (middle - 5000, middle + 5000), (0, middle)))
            most = self._chance.choice((1, 64))
            (told,) = self._program.ask("key", topic, key.encode().hex(), most, begin, end)
            question = ("--key", key, "--max", most, "--begin", begin, "--end", end)
            (row,) = self._kidx("lookup", self._made.store, topic, *question).rows
            offsets = row["commit_log_offsets"]
            ours = "!" if offsets is None else ",".join(map(str, offsets))
            told = told[:1] if told.startswith("!") else told
            self._ledger.compare("rocketmq key", ("rocketmq lookup", self._made.store, topic, *question), ours, told)


def _said(row: dict[str, Any]) -> list[str]:
    pairs = sorted(row["properties"].items())
    properties = "&".join(f"{name.encode().hex()}={value.encode().hex()}" for name, value in pairs)
    return [*(f"{name}={row[name]}" for name in _NAMES), f"properties={properties}"]
