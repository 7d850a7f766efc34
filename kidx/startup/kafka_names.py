"""How Kafka reads the names of files and directories, which is not how they are meant to be written.

Sources: UnifiedLog.parseTopicPartitionName, LogFileUtils.
"""

from __future__ import annotations

from kidx.startup.behaviours import BEHAVIOURS
from kidx.startup.outcome import BrokerRefuses

INDEX_SUFFIXES = (".index", ".timeindex", ".txnindex")
DELETED, CLEANED, SWAP = ".deleted", ".cleaned", ".swap"
DELETE, FUTURE, STRAY = "-delete", "-future", "-stray"
_MOST_INT, _MOST_LONG = 2**31 - 1, 2**63 - 1


def partition_of(name: str, directory: str, *, stray_is_known: bool) -> tuple[str, int, str]:
    """Topic, partition number and state ("", DELETE, FUTURE, STRAY) of a directory. Raises BrokerRefuses."""
    states = (DELETE, FUTURE, STRAY) if stray_is_known else (DELETE, FUTURE)
    state = next((state for state in states if name.endswith(state)), "")
    stem = name
    if state:
        stem, dot, unique = name.removesuffix(state).rpartition(".")
        if not dot or not unique:
            stem = ""
    topic, dash, number = stem.rpartition("-")
    partition = _java_int(number, _MOST_INT)
    if not dash or not topic or partition is None:
        raise BrokerRefuses(
            BEHAVIOURS["directory-name"],
            f"org.apache.kafka.common.KafkaException: Found directory {directory}/{name}, '{name}' is not "
            "in the form of topic-partition or topic-partition.uniqueId-delete (if marked for deletion).",
            f"{directory}/{name}",
        )
    return topic, partition, state


def offset_of(name: str, path: str) -> int:
    """The number before a file name's first dot. Raises BrokerRefuses where there is none."""
    digits, dot, _ = name.partition(".")
    offset = _java_int(digits, _MOST_LONG)
    if not dot or offset is None:
        message = f'java.lang.NumberFormatException: For input string: "{digits}"'
        raise BrokerRefuses(BEHAVIOURS["file-name"], message, path)
    return offset


def file_of(base_offset: int, suffix: str) -> str:
    """The name of a segment's file: 20 digits and the suffix."""
    return f"{base_offset:020d}{suffix}"


def _java_int(text: str, most: int) -> int | None:
    """Integer.parseInt or Long.parseLong: None where they throw NumberFormatException."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal():
        return None
    value = int(text) if len(text) <= 40 else most + 1
    return value if -most - 1 <= value <= most else None
