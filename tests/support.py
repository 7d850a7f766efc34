"""What tests share: where the fixtures are, and how to run kidx as a user does."""

from __future__ import annotations

import atexit
import csv
import importlib
import io
import json
import os
import pkgutil
import shutil
import signal
import sys
import tarfile
import tempfile
import traceback
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import kidx as kidx_package
from kidx.cli import main

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


def kidx(*args: object, cwd: Path | None = None, stdin: str | bytes = b"", **env: str) -> Ran:
    """Run kidx in a process of its own, its standard input a pipe."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = out.fileno(), err.fileno()
        data = stdin.encode() if isinstance(stdin, str) else stdin
        status = forked_kidx(args, streams, cwd or Path.cwd(), {**os.environ, "COLUMNS": "200", **env}, data)
        for file in (out, err):
            file.seek(0)
        return Ran(status, out.read(), err.read())


def forked_kidx(
    args: Iterable[object], streams: tuple[int, int], cwd: Path, environment: dict[str, str], stdin: bytes = b""
) -> int:
    """The status of kidx in a fork of this process: some 10 ms, where starting Python and its imports take 200.

    `streams` are the descriptors of its standard output and standard error.
    """
    _import_commands()
    source, data = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(data)
        _become_kidx([str(arg) for arg in args], (source, *streams), cwd, environment)
    os.close(source)
    with suppress(BrokenPipeError), open(data, "wb") as to_child:
        to_child.write(stdin)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@cache
def _import_commands() -> None:
    """Import all that a command may import, once for all forks; except what needs an extra."""
    for module in pkgutil.walk_packages(kidx_package.__path__, "kidx."):
        if not module.name.startswith(("kidx.__main__", "kidx.pipeline", "kidx.sql")):
            importlib.import_module(module.name)


def _become_kidx(args: list[str], streams: tuple[int, int, int], cwd: Path, environment: dict[str, str]) -> NoReturn:
    """Run kidx and end this process, as `python -m kidx` would."""
    status = 1
    try:
        signal.alarm(HANG_S)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115 - open until the process ends
        sys.stderr = open(2, "w", buffering=1)  # noqa: SIM115
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("error", RuntimeWarning)  # not lost in a list of pytest's
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None
        sys.argv = ["kidx", *args]
        main()
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def kidx_here(*args: object) -> Ran:
    """Run kidx in this process: much quicker, for tests with many runs. Its streams are bytes, as a process's are."""
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
