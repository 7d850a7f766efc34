"""The version of the broker to imitate, and what depends on it: versions give different answers for the same files."""

from __future__ import annotations

from typing import NamedTuple

from kidx.errors import UsageError
from kidx.rocketmq.layout import Layout

CLASSIC, CURRENT = "classic", "current"
NEWEST = {4: (4, 9, 8), 5: (5, 5, 1)}


class BrokerVersion(NamedTuple):
    """A version of the broker, and what depends on it."""

    number: tuple[int, int, int]

    @property
    def five(self) -> bool:
        """5.0 on: V2 magic, bisected min offset, clamped answers, another order within a pull."""
        return self.number[0] >= 5

    @property
    def checks_log_end(self) -> bool:
        """5.1 on: no store time is read past the commit log's end."""
        return self.number >= (5, 1, 0)

    @property
    def algorithm(self) -> str:
        """The time search: classic up to 5.1.0, current (LOWER and UPPER) from 5.1.1."""
        return CURRENT if self.number >= (5, 1, 1) else CLASSIC

    @property
    def dispatches_on_load(self) -> bool:
        """5.3.2 on: recovery adds missing units after a clean stop, too, and starts where the queues end."""
        return self.number >= (5, 3, 2)

    @property
    def limits_recovery(self) -> bool:
        """5.4.0 on: recovery reads at most ten files of the commit log, and starts only at an intact message."""
        return self.number >= (5, 4, 0)

    @property
    def recovers_from_queues(self) -> bool:
        """5.5.0 on: recovery after an unclean stop starts at the queues' own checkpoint (getMinTimestamp before)."""
        return self.number >= (5, 5, 0)

    @property
    def knows_v2(self) -> bool:
        """5.1.0 on: messages of topics longer than 127 bytes (MESSAGE_MAGIC_CODE_V2)."""
        return self.number >= (5, 1, 0)

    @property
    def past_end_restarts(self) -> bool:
        """Up to 4.9.3: a pull past the end of a queue with min offset 0 is sent back to 0, not to the max offset."""
        return self.number < (4, 9, 4)

    @property
    def indexes_tags(self) -> bool:
        """5.4.0 on: the index gets an entry topic#T#tags."""
        return self.number >= (5, 4, 0)

    def __str__(self) -> str:
        return ".".join(map(str, self.number))


def parse_version(text: str) -> tuple[int, int, int]:
    """4.9.8, or 5.1 for 5.1.0. Raises UsageError."""
    parts = text.split(".")
    if not 1 <= len(parts) <= 3 or not all(p.isascii() and p.isdigit() for p in parts) or int(parts[0]) not in NEWEST:
        raise UsageError(f"{text}: no RocketMQ version that kidx knows: give 4.x or 5.x, such as 4.9.8")
    if len(parts) == 1:
        return NEWEST[int(parts[0])]
    numbers = [int(p) for p in parts] + [0]
    return numbers[0], numbers[1], numbers[2]


def version_of(given: str | None, algorithm: str | None, five: bool) -> BrokerVersion:
    """The version given, else the newest of the line that wrote the store; a given algorithm takes precedence.

    classic on a store of 5.x is 5.1.0, the last version with it; current on one of 4.x is what 5.5.1 would answer.
    """
    version = BrokerVersion(parse_version(given) if given else NEWEST[5 if five else 4])
    if algorithm == CLASSIC and version.algorithm == CURRENT:
        return BrokerVersion((5, 1, 0))
    if algorithm == CURRENT and version.algorithm == CLASSIC:
        return BrokerVersion(NEWEST[5])
    return version


def written_by_five(layout: Layout, last_message_ends_properties: bool | None, abort_has_pid: bool) -> bool:
    """Whether a 5.x broker wrote a store last: by files that only 5.x writes, else by the end of message properties."""
    if layout.rocksdb or layout.rocksdb_copy or layout.batch_queues or layout.abort_backup or abort_has_pid:
        return True
    return bool(last_message_ends_properties)
