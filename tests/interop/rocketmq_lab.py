"""A real RocketMQ store for tests: its jars from Maven Central, and stores made from a random number."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

from tests.interop.lab import HERE, Program, compiled, fetch

VERSIONS = ("4.9.8", "5.5.1")
FIRST_TIME_MS = 1_600_000_000_000
_POM = """<project><modelVersion>4.0.0</modelVersion><groupId>lab</groupId><artifactId>lab</artifactId>
<version>1</version><dependencies><dependency><groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-store</artifactId>
<version>{version}</version></dependency></dependencies></project>"""
_OPENED = ("java.base/sun.nio.ch", "java.base/java.nio", "java.base/jdk.internal.ref")
_UNCOMPILED = "-XX:CompileCommand=exclude,org/apache/rocketmq/store/DefaultMessageStore.*"
_WORDS = ("order", "paid", "cancelled", "42", "shipment", "Zürich", "標籤")
_BODY = b"order paid cancelled 42 shipment x "


def rocketmq(version: str, home: Path) -> Program:
    """A program with the store of a version; `home` is where its logs go. Raises Unavailable."""
    source = HERE / "RocketmqStore.java"
    jars = compiled(fetch(f"rocketmq-{version}", _POM.format(version=version)), source)
    opens = [f"--add-{kind}={package}=ALL-UNNAMED" for package in _OPENED for kind in ("opens", "exports")]
    options = ["-Xmx512m", "-XX:CompileCommand=quiet", _UNCOMPILED, *opens, f"-Duser.home={home}"]
    return Program(source, jars=jars, options=options)


def share_a_file(indexes: list[str]) -> bool:
    """Whether two of a store's index files are one: the store names them by the millisecond."""
    names = indexes[0].split(",")
    return len(set(names)) < len(names)


def damage(store: Path, chance: random.Random) -> None:
    """Something that happens to stores: a crash, lost queue files, zeroed tails, flipped bytes."""
    queues = sorted(p for p in (store / "consumequeue").rglob("*") if p.is_file())
    path = chance.choice([*queues, *sorted((store / "commitlog").iterdir())])
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data) // 20) * 20
    kind = chance.choice(("tail", "bytes", "gone"))
    if kind == "gone" and path in queues:
        path.unlink()
    else:
        data[at:] = bytes(len(data) - at) if kind == "tail" else chance.randbytes(4) + data[at + 4 :]
        path.write_bytes(data)
    if chance.random() < 0.6:
        (store / "abort").touch()


class MadeStore:
    """A store that a real RocketMQ wrote, from one random number.

    `raced`: two of its index files are one, so that it damaged its index itself.
    """

    def __init__(self, program: Program, chance: random.Random, root: Path) -> None:
        self.root, self.store, self.properties = root, root / "store", root / "store.properties"
        self.keys: list[tuple[str, str]] = []
        self.times: list[int] = []
        root.mkdir(parents=True)
        self._chance = chance
        units = chance.choice((7, 12, 50, 200))
        settings = {
            "mappedFileSizeCommitLog": chance.choice((8192, 16384, 65536)),
            "mappedFileSizeConsumeQueue": 20 * units,
            "maxHashSlotNum": chance.choice((7, 50)),
            "maxIndexNum": chance.choice((40, 180)),
        }
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        messages = root / "messages"
        count = chance.randrange(20, 110)
        messages.write_text("".join(self._messages(count)))
        self.crashed = chance.random() < 0.3
        indexes = program.ask("make", self.store, self.properties, messages, "crash" if self.crashed else "stop")
        self.raced = share_a_file(indexes)
        shutil.rmtree(self.store / "rocksdbstore", ignore_errors=True)
        self._expire()
        self._set_times()

    @property
    def queues(self) -> list[tuple[str, int]]:
        """(topic, queue) of each that has a directory."""
        return sorted((p.parent.name, int(p.name)) for p in (self.store / "consumequeue").glob("*/*"))

    def damage(self) -> None:
        """One of the things that happen to stores."""
        damage(self.store, self._chance)

    def _messages(self, count: int) -> list[str]:
        r = self._chance
        now = FIRST_TIME_MS + r.randrange(10**9)
        skewed, step = r.random() < 0.3, r.choice((2, 30, 2500))
        lines = []
        for n in range(count):
            now += -r.randrange(900) if skewed and r.random() < 0.15 else r.randrange(step)
            lines.append(self._message(now, n))
        return lines

    def _message(self, now: int, n: int) -> str:
        r = self._chance
        topic, queues = r.choice((("Orders", 3), ("Orders", 3), ("Payments", 1), ("Audit_Log", 2)))
        tags = (
            "-" if r.random() < 0.1 else r.choice((f"Tag{r.randrange(4)}", r.choice(_WORDS), "a || b")).encode().hex()
        )
        unique = "-" if r.random() < 0.1 else f"{r.randrange(2**64):016X}{n:08X}"
        names = [r.choice(("Aa", "BB", f"K{r.randrange(30)}", r.choice(_WORDS))) for _ in range(r.randrange(3))]
        self.times.append(now)
        self.keys += [(topic, name) for name in names] + ([(topic, unique)] if unique != "-" else [])
        keys = " ".join(names).encode().hex() or "-"
        large = r.randrange(500, 2600) if r.random() < 0.15 else r.randrange(160)
        body = (_BODY * 80)[:large].hex() or "-"
        system_flag = r.choice((0, 0, 0, 0x10, 0x20, 0x30, 0x4, 0x8, 0xC))
        more = "" if r.random() < 0.8 else f"{b'region'.hex()}={'zürich-東'.encode().hex()}"
        fields = (now, topic, r.randrange(queues), tags, keys, unique, system_flag, r.randrange(2**31), body, more)
        return "\t".join(map(str, fields)) + "\n"

    def _expire(self) -> None:
        """Old files of the commit log are deleted, as a broker does after some days."""
        files = sorted((self.store / "commitlog").iterdir())
        if len(files) > 2 and self._chance.random() < 0.4:
            for path in files[: self._chance.randrange(1, len(files) - 1)]:
                path.unlink()

    def _set_times(self) -> None:
        """File times between the first message and the last: the classic search chooses files by them."""
        low, high = min(self.times), max(self.times)
        for path in sorted(p for p in self.store.rglob("*") if p.is_file()):
            at = self._chance.randrange(low, high + 2) * 10**6
            os.utime(path, ns=(at, at))
