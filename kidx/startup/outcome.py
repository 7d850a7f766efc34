"""What a start comes to: actions, partitions, and the ways in which it fails."""

from __future__ import annotations

from typing import NamedTuple

from kidx.startup.behaviours import Behaviour

REFUSE, OFFLINE, RECOVER, TRUNCATE, REBUILD = "refuse", "offline", "recover", "truncate", "rebuild"
DELETE, RENAME, CREATE, IGNORE = "delete", "rename", "create", "ignore"


class Action(NamedTuple):
    """One thing that the broker does. `directory` is the log dir as given, `file` a path, `segment` a base offset.

    `records_lost` counts records that consumers no longer get, None where nothing tells how many; 0 for no loss.
    """

    action: str
    behaviour: Behaviour
    why: str
    directory: str
    partition: str | None = None
    segment: int | None = None
    file: str | None = None
    bytes_before: int | None = None
    bytes_after: int | None = None
    records_lost: int | None = 0


class PartitionStart(NamedTuple):
    """A partition after it was loaded. `name` is its directory's before the start, whatever it is renamed to."""

    directory: str
    name: str
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    segments: int
    recovered_segments: tuple[int, ...]
    bytes_read: int


class Prediction(NamedTuple):
    """A start. `reason` is Kafka's exception and message where it does not start, else None.

    `unread` are sentences about what could not be read, `remarks` about what the prediction rests on.
    """

    version: str
    starts: bool
    reason: str | None
    offline_dirs: tuple[str, ...]
    partitions: tuple[PartitionStart, ...]
    actions: tuple[Action, ...]
    unread: tuple[str, ...]
    remarks: tuple[str, ...]


class StartFailure(Exception):
    """An exception that reaches LogManager. `message` is Java's class and message."""

    def __init__(self, behaviour: Behaviour, message: str, file: str | None = None) -> None:
        super().__init__(message)
        self.behaviour, self.message, self.file = behaviour, message, file


class BrokerRefuses(StartFailure):
    """Raised where Kafka throws what ends the broker: anything but an IOException."""


class LogDirFails(StartFailure):
    """Raised where Kafka meets an IOException: the log dir goes offline, and with the last one the broker ends."""
