"""Tiers that real brokers filled, and what the brokers answered (fixtures/pack_tiered.py)."""

from __future__ import annotations

import atexit
import csv
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support import OWN_FIXTURES

LOCAL = "kafka-4.3.1-local"  # complete, with the log dir
ZSTD, ENCRYPTED = "kafka-3.9.1-aiven-zstd", "kafka-4.3.1-aiven-encrypted"  # some of their topics
PARTS = {
    "log": ".log",
    "offset": ".index",
    "timestamp": ".timeindex",
    "producer_snapshot": ".snapshot",
    "leader_epoch": ".leader_epoch_checkpoint",
    "transaction": ".txnindex",
}


class Stored(NamedTuple):
    """An object of a tier: its path below `remote/`, its segment, and what the scenario says of it."""

    path: str
    segment: str
    verdict: str


@cache
def unpacked(name: str) -> Path:
    """One set, unpacked for this test run."""
    home = tempfile.mkdtemp(prefix="kidx-tiered-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    with tarfile.open(OWN_FIXTURES / "tiered" / f"{name}.tar.xz") as archive:
        archive.extractall(home, filter="data")
    return Path(home)


def keys(name: str) -> dict[str, str]:
    """The private keys of a set, by the ids of their key pairs."""
    return {file.name.split(".")[0]: str(file) for file in (unpacked(name) / "keys").glob("*.private.pem")}


def answers(name: str, file: str) -> list[dict[str, str]]:
    """The rows of one of the answers with a heading."""
    with (unpacked(name) / "answers" / file).open() as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def plain_answers(name: str, file: str) -> list[list[str]]:
    """The rows of one of the answers without a heading."""
    text = (unpacked(name) / "answers" / file).read_text()
    return [line.split("\t") for line in text.splitlines()]


def objects(name: str) -> Iterator[Stored]:
    """The objects that are in the set."""
    for row in plain_answers(name, "objects.tsv"):
        stored = Stored(*row)
        if (unpacked(name) / "remote" / stored.path).exists():
            yield stored


def originals(name: str) -> dict[str, dict[str, tuple[int, str]]]:
    """Size and digest of each file that the broker handed over, by segment and kind."""
    found: dict[str, dict[str, tuple[int, str]]] = {}
    for segment, kind, size, digest in plain_answers(name, "originals.tsv"):
        found.setdefault(segment, {})[kind] = int(size), digest
    return found
