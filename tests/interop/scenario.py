"""Data for a broker from one random number: topics of every kind, what is sent to them, and what happens to them.

All that a seed decides comes from `random.Random`; the broker adds its own times and producer ids.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.interop.lab import Program

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST_TIME_MS = 1_700_000_000_000
YEAR_2100_MS = 4_102_444_800_000
_WORDS = (
    "offset",
    "index",
    "segment",
    "broker",
    "replica",
    "leader",
    "epoch",
    "batch",
    "record",
    "page",
    "cache",
    "log",
)
_EVER = str(10**15)

Step = tuple[object, ...]  # a request to KafkaClient
_PRODUCERS: tuple[Step, ...] = tuple(("producer", codec, f"compression.type={codec}") for codec in CODECS)


@dataclass
class Topic:
    """A topic of one partition. `interval` is its index.interval.bytes."""

    name: str
    configs: dict[str, object]
    interval: int = field(init=False)

    def __post_init__(self) -> None:
        self.interval = int(str(self.configs["index.interval.bytes"]))

    @property
    def partition(self) -> str:
        """Its partition's directory."""
        return f"{self.name}-0"


class Scenario:
    """What one seed makes of a broker. `chance` serves the questions afterwards."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(f"kidx {seed}")
        self._time = FIRST_TIME_MS + self.chance.randrange(10**9)
        self.plain = self._topic("plain", **self._some_codec())
        self.times = self._topic("times", **{"message.timestamp.after.max.ms": 2**63 - 1})
        self.append_time = self._topic("logappend", **{"message.timestamp.type": "LogAppendTime"})
        self.transactional = self._topic("txn")
        self.trimmed = self._topic("trimmed")
        self.compacted, self.compacted_transactional = self._compacted("compacted"), self._compacted("compacted-txn")
        self.groups = [f"s{seed}-group-{n}" for n in range(self.chance.randrange(1, 4))]

    @property
    def topics(self) -> list[Topic]:
        """All of them."""
        cleaned = [self.compacted, self.compacted_transactional]
        return [self.plain, self.times, self.append_time, self.transactional, self.trimmed, *cleaned]

    def make(self, client: Program) -> None:
        """Create the topics, and fill them."""
        r = self.chance
        steps: list[Step] = [("create", topic.name, 1, _pairs(topic.configs)) for topic in self.topics]
        steps += _PRODUCERS
        self._send_each(steps, self.plain, [self._records(r.randrange(1, 12)) for _ in range(r.randrange(25, 60))])
        self._send_each(steps, self.plain, self._odd_batches(int(str(self.plain.configs["internal.segment.bytes"]))))
        self._send_each(steps, self.times, [self._shuffled(r.randrange(1, 8)) for _ in range(r.randrange(20, 50))])
        self._send_each(steps, self.append_time, [self._records(r.randrange(1, 6)) for _ in range(r.randrange(8, 25))])
        self._send_each(steps, self.trimmed, [self._records(r.randrange(1, 6)) for _ in range(r.randrange(20, 40))])
        self._keyed(steps)
        self._transactions(steps, self.transactional, count=r.randrange(25, 60), keys=None)
        self._transactions(steps, self.compacted_transactional, count=r.randrange(20, 40), keys=self._keys())
        client.ask_many(steps)
        end = int(client.ask("offsets", self.trimmed.name, 0)[1])
        steps = [("delete-records", self.trimmed.name, 0, r.randrange(1, end))]
        for group in self.groups:
            for _ in range(r.randrange(1, 4)):
                steps.append(("commit-offset", group, r.choice(self.topics).name, 0, r.randrange(100)))
        client.ask_many(steps)

    def add(self, client: Program) -> None:
        """A little more, as a broker gets it before it crashes."""
        r = self.chance
        steps = list(_PRODUCERS)
        for topic in (self.plain, self.append_time, self.trimmed, self.compacted):
            self._send_each(steps, topic, [self._records(r.randrange(1, 8)) for _ in range(r.randrange(8))])
        self._send_each(steps, self.times, [self._shuffled(r.randrange(1, 8)) for _ in range(r.randrange(8))])
        self._transactions(steps, self.transactional, count=r.randrange(12), keys=None)
        client.ask_many(steps)

    def _topic(self, kind: str, **more: object) -> Topic:
        r = self.chance
        configs: dict[str, object] = {
            "internal.segment.bytes": r.choice((3500, 6000, 12288, 30000, 1 << 20)),
            "segment.index.bytes": r.choice((24, 60, 120, 1000, 65536, 65536)),
            "index.interval.bytes": r.choice((0, 64, 300, 512, 1024, 4096)),
            "file.delete.delay.ms": r.choice((100, 60000)),
        }
        if r.random() < 0.7:
            configs["segment.ms"] = _EVER
        return Topic(f"s{self.seed}-{kind}", configs | more)

    def _compacted(self, kind: str) -> Topic:
        """The cleaner gives up a partition whose indexes are too small for what it makes of it."""
        room = self.chance.choice((1000, 65536))
        return self._topic(kind, **{"min.cleanable.dirty.ratio": 0.01, "segment.index.bytes": room})

    def _some_codec(self) -> dict[str, object]:
        return {"compression.type": self.chance.choice(CODECS[1:])} if self.chance.random() < 0.3 else {}

    def _send_each(self, steps: list[Step], topic: Topic, batches: list[str]) -> None:
        steps += [("batches", self.chance.choice(CODECS), topic.name, 0, batch) for batch in batches]

    def _tick(self, most: int = 50) -> int:
        self._time += self.chance.randrange(1, most)
        return self._time

    def _text(self) -> bytes:
        r = self.chance
        return " ".join(r.choice(_WORDS) for _ in range(r.randrange(3, 30))).encode()

    def _records(self, count: int) -> str:
        keys = (f"key-{self.chance.randrange(1000)}".encode() for _ in range(count))
        return ",".join(_record(self._tick(), key, self._text()) for key in keys)

    def _shuffled(self, count: int) -> str:
        """Times that go back and forth, the epoch and the year 2100 among them."""
        r = self.chance
        records = []
        for _ in range(count):
            now = self._time
            far = (0, YEAR_2100_MS) if r.random() < 0.02 else ()
            late = r.choice((now, self._tick(), now - r.randrange(10**6), now + r.randrange(3 * 10**5), *far))
            records.append(_record(late, b"k", self._text()))
        return ",".join(records)

    def _odd_batches(self, segment_bytes: int) -> list[str]:
        """Null, empty, binary, large; headers of all kinds. A batch has to fit a segment."""
        r = self.chance
        blob = r.randbytes(r.randrange(1, 300))
        headers = (("trace", b"abc"), ("trace", b""), ("null", None), ("grüße", blob[:20]), ("", b"unnamed"))
        odd = [
            _record(self._tick(), None, None),
            _record(self._tick(), b"", b""),
            _record(self._tick(), "grüße".encode(), "日本語 ✓ \U0001f511".encode()),
            _record(self._tick(), blob, blob[::-1]),
            _record(self._tick(), b"h", b"headers", headers),
            _record(self._tick(), b"line\nbreak\ttab", b'quote" back\\slash\r\n\0'),
            _record(
                self._tick(), b"large", bytes([r.randrange(256)]) * r.randrange(1000, min(14000, segment_bytes - 500))
            ),
        ]
        return r.sample(odd, len(odd))

    def _keys(self) -> list[bytes]:
        return [f"user-{n}".encode() for n in range(self.chance.randrange(1, 50))]

    def _updates(self, keys: list[bytes], count: int) -> str:
        """Values of keys, and tombstones."""
        r = self.chance
        values = (None if r.random() < 0.15 else self._text() for _ in range(count))
        return ",".join(_record(self._tick(), r.choice(keys), value) for value in values)

    def _keyed(self, steps: list[Step]) -> None:
        r, keys = self.chance, self._keys()
        batches = [self._updates(keys, r.randrange(1, 10)) for _ in range(r.randrange(25, 60))]
        self._send_each(steps, self.compacted, batches)

    def _transactions(self, steps: list[Step], topic: Topic, count: int, keys: list[bytes] | None) -> None:
        """Transactions of three producers, one among the others: committed, aborted, and perhaps open in the end."""
        r = self.chance
        names = [f"{topic.name}-{n}" for n in range(3)]
        codecs = ("none",) if keys and r.random() < 0.5 else CODECS
        for name in names:
            configs = {"transactional.id": name, "compression.type": r.choice(codecs), "transaction.timeout.ms": 600000}
            steps += [("producer", name, _pairs(configs)), ("init", name)]
        begun: set[str] = set()
        for _ in range(count):
            name = r.choice(names)
            if name not in begun:
                steps.append(("begin", name))
                begun.add(name)
            few = r.randrange(1, 6)
            steps.append(("batches", name, topic.name, 0, self._updates(keys, few) if keys else self._records(few)))
            if r.random() < 0.4:
                steps.append((r.choice(("commit", "abort", "abort")), name))
                begun.discard(name)
            if not keys and r.random() < 0.2:
                steps.append(("batches", r.choice(CODECS), topic.name, 0, self._records(2)))
        for name in sorted(begun):
            how = r.choice(("commit", "abort", "open"))
            if how != "open":
                steps.append((how, name))


def _record(
    time: int, key: bytes | None, value: bytes | None, headers: tuple[tuple[str, bytes | None], ...] = ()
) -> str:
    told = "&".join(f"{_hex(name.encode())}={_hex(data)}" for name, data in headers)
    return f"{time}:{_hex(key)}:{_hex(value)}:{told}"


def _hex(data: bytes | None) -> str:
    return "-" if data is None else data.hex()


def _pairs(configs: dict[str, object]) -> str:
    return ",".join(f"{name}={value}" for name, value in configs.items())
