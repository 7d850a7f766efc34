"""What tests share: where the fixtures are, and how to run kidx as a user does."""

from __future__ import annotations

import atexit
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HANG_S = 900  # only a process that hangs takes so long, however busy the machine is
OWN_FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
FIXTURES = Path(os.environ.get("KIDX_FIXTURES", OWN_FIXTURES))  # the same sets of another seed may be asked for
KAFKA_SETS = [FIXTURES / name for name in ("kafka-4.3.1", "kafka-3.9.1", "kafka-2.8.2") if (FIXTURES / name).is_dir()]
STAGES = ("clean", "live", "unclean", "fleet", "compaction", "old")


@cache
def unpacked(archive: str) -> Path:
    """The log dirs of one of the archives in fixtures/brokers (`kafka-1.1.1`), unpacked for this test run."""
    home = tempfile.mkdtemp(prefix="kidx-fixture-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    with tarfile.open(FIXTURES / "brokers" / f"{archive}.tar.xz") as tar:
        tar.extractall(home, filter="data")
    (root,) = Path(home).iterdir()
    return root


class Ran(NamedTuple):
    """How a command ended. `rows` are its JSON lines."""

    status: int
    out: bytes
    err: bytes

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.decode().splitlines() if line.strip()]


def kidx(*args: object, cwd: Path | None = None, stdin: str | bytes | None = None, **env: str) -> Ran:
    """Run kidx as a process of its own."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, "-m", "kidx", *map(str, args)],
        cwd=cwd,
        input=data,
        stdin=None if data is not None else subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG_S,
        env={**os.environ, "COLUMNS": "200", **env},
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def kidx_here(*args: object) -> Ran:
    """Run kidx in this process: much quicker, for tests with many runs. Its streams are bytes, as a process's are."""
    from kidx.cli import main

    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in streams)
    try:
        main([str(arg) for arg in args])
    except SystemExit as ended:
        printed = []
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            printed.append(stream.buffer.getvalue())  # type: ignore[attr-defined]
        return Ran(int(ended.code or 0), *printed)
    finally:
        sys.stdout, sys.stderr = streams
    raise AssertionError("main() always exits")


@cache
def answer_files(fixture_set: Path) -> dict[str, bytes]:
    """The recorded answers that are a file each, by path below answers/: texts (dump/) and indexes (recovered/).

    They are packed into one archive; a set that was just recorded has them as files.
    """
    folder = fixture_set / "answers"
    if (folder / "files.tar.xz").exists():
        with tarfile.open(folder / "files.tar.xz") as archive:
            return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*/*")) if f.is_file()}


def dump_texts() -> list[tuple[Path, str, bytes]]:
    """What DumpLogSegments printed: the file it was asked about, the ending that names the options, the text."""
    texts = []
    for fixture_set in sorted(FIXTURES.glob("kafka-*")):
        for path, text in answer_files(fixture_set).items():
            if path.startswith("dump/"):
                file = fixture_set / path.removeprefix("dump/").removesuffix(".txt")
                options = "" if file.exists() else file.suffix
                texts.append((file.with_name(file.name.removesuffix(options)), options, text))
    return texts


def answers(fixture_set: Path, name: str) -> list[dict[str, str]]:
    """The recorded answers of the real system: one of the .tsv files under answers/."""
    path = fixture_set / "answers" / name
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f, delimiter="\t"))
