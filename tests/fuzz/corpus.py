"""What is mutated: segments that real brokers wrote, shortened to a few batches, and RocketMQ's stores.

A shortened log keeps its bytes; its indexes are made anew by `kidx rebuild`, as a broker's recovery makes them.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kidx.evidence import from_bytes
from kidx.logdir.names import LOG, METADATA_SNAPSHOT, parse_file_name
from kidx.segments.walk import walk
from tests.support import FIXTURES, kidx_here

LOG_BYTES = 3000  # a log is cut after the batch that reaches it
_LARGEST_BYTES = 12_000  # batches beyond are left out: they would take most of the time
_ZERO_TAIL = {"index": 400, "timeindex": 600, "txnindex": 0}
_LEFT_OUT = ("/broker-2/", "/broker-3/")  # replicas of broker-1's
_BESIDE = ("leader-epoch-checkpoint", "partition.metadata", "quorum-state")
_ROCKETMQ = ("plain", "index_keys", "transactions", "batch_cq", "cq_ext", "prop_crc", "unclean_torn", "tags")


class Case(NamedTuple):
    """A directory to work on. `files` maps paths below `directory` to bytes; `rocketmq` where it is a store."""

    name: str
    directory: str
    files: dict[str, bytes]
    rocketmq: bool = False

    def lay_out(self, root: Path) -> Path:
        """Write it below `root`; its directory."""
        home = root / self.name / self.directory
        for name, data in self.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return home


def kind_of(name: str) -> str:
    """What a file of a case is: kidx's own name of the kind, or `rocketmq` below a store's directories."""
    parsed = parse_file_name(name)
    return parsed.kind if parsed else "rocketmq"


@cache
def kafka_cases() -> list[Case]:
    """A case a segment, in an order that only the fixtures decide."""
    found = []
    logs = [p for p in FIXTURES.glob("kafka-*/**/*") if kind_of(p.name) in (LOG, METADATA_SNAPSHOT)]
    for directory in sorted({path.parent for path in logs}):
        where = directory.relative_to(FIXTURES).as_posix()
        if any(part in where for part in _LEFT_OUT):
            continue
        beside = {name: (directory / name).read_bytes() for name in _BESIDE if (directory / name).exists()}
        here = sorted(path for path in logs if path.parent == directory)
        for log in sorted({*here[:1], *here[-1:]}):
            files = _segment(log)
            if files:
                name = f"{where}/{log.name.lstrip('0')}".replace("/", "_")
                found.append(Case(name, directory.name, files | beside))
    return found


def log_dir_cases() -> list[Case]:
    """The text files of a log dir."""
    return [
        Case(f"{path.name}_{number}", "data", {path.name: path.read_bytes()})
        for pattern in ("*-checkpoint", "meta.properties")
        for number, path in enumerate(sorted(FIXTURES.glob(f"*/clean/{pattern}")))
        if path.stat().st_size
    ]


def rocketmq_cases() -> list[Case]:
    """Whole stores: their files explain each other."""
    found = []
    for version in ("4.9.8", "5.5.1"):
        for name in _ROCKETMQ:
            store = FIXTURES / f"rocketmq-{version}" / name / "store"
            if store.is_dir():
                paths = [path for path in sorted(store.rglob("*")) if path.is_file() and not _not_read(path)]
                files = {path.relative_to(store).as_posix(): path.read_bytes() for path in paths}
                found.append(Case(f"rocketmq-{version}_{name}", "store", files, rocketmq=True))
    return found


def _not_read(path: Path) -> bool:
    """Whether it is one of a store's files that kidx has no use for."""
    return path.name in ("lock", "abort.bak") or path.suffix == ".json"


def _segment(log: Path) -> dict[str, bytes]:
    """The files of a segment, shortened; empty where there is nothing to shorten."""
    data = log.read_bytes()
    end = _end_of_some_batches(data)
    if not 0 < end <= _LARGEST_BYTES:
        return {}
    files = {log.name: data[:end]}
    if log.suffix != ".log":
        return files
    own = {path.name: path.read_bytes() for path in sorted(log.parent.glob(f"{log.stem}.*")) if path != log}
    snapshots = {name: content for name, content in own.items() if name.endswith(".snapshot")}
    if end == len(data) and all(len(content) < _LARGEST_BYTES for content in own.values()):
        return files | own
    made = _rebuilt(log.parent.name, files | snapshots)
    if own.get(log.stem + ".index", b"").endswith(bytes(8)):  # preallocated, as its broker left it
        made = {name: content + bytes(_ZERO_TAIL[name.rsplit(".")[-1]]) for name, content in made.items()}
    return files | snapshots | made


def _rebuilt(directory: str, files: dict[str, bytes]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / directory
        home.mkdir()
        for name, data in files.items():
            (home / name).write_bytes(data)
        made = Path(scratch) / "made"
        ran = kidx_here("rebuild", "--jobs", 1, "--index-interval-bytes", 200, "--output", made, home)
        assert ran.status in (0, 1), ran.err
        return {path.name: path.read_bytes() for path in sorted((made / home.name).iterdir())}


def _end_of_some_batches(data: bytes) -> int:
    end = 0
    for batch in walk(from_bytes(data)):
        end = batch.next_position
        if end >= LOG_BYTES:
            break
    return end
