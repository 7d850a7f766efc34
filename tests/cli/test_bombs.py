"""Logs of hundreds of batches that inflate to a thousand times their size: work and memory are bounded, and said."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kidx.exit_status import CLEAN, UNREADABLE
from tests.building import batch, compress, message, record
from tests.support import HANG_S, Ran, kidx_here

LOG = f"{0:020d}.log"
BOMBS = 500
INFLATED_BYTES = 2 << 20
ADDRESS_SPACE_BYTES = 700 << 20
ALLOWED = "12MiB"


def a_log_of_bombs(home: Path, codec: int, name: str = "bombs-0", *, magic: int = 2) -> Path:
    """A partition of BOMBS batches, 1 GiB in all, and a usual batch after them."""
    inner = record(0, 0, b"key", bytes(INFLATED_BYTES))
    if magic == 2:
        payload = compress(codec, inner)
        bombs = [batch(payload=payload, codec=codec, count=1, last_offset_delta=0, base_offset=i) for i in range(BOMBS)]
    else:
        payload = compress(codec, message(bytes(INFLATED_BYTES), offset=0, key=b"key"))
        bombs = [message(payload, offset=i, attributes=codec) for i in range(BOMBS)]
    usual = batch([record(0, 0, b"key", b"the usual record")], codec=codec, base_offset=BOMBS)
    directory = home / name
    directory.mkdir()
    (directory / LOG).write_bytes(b"".join([*bombs, usual]))
    return directory


def bounded(*words: object) -> Ran:
    """Run kidx with 700 MiB of address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))

    command = [sys.executable, "-m", "kidx", *map(str, words)]
    done = subprocess.run(command, capture_output=True, timeout=HANG_S, check=False, preexec_fn=limit)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("codec", [1, 4])
def test_verify_says_which_batches_were_not_decoded(tmp_path: Path, codec: int) -> None:
    directory = a_log_of_bombs(tmp_path, codec)
    ran = bounded("verify", "--deep", "--jobs", "1", "--max-inflate", ALLOWED, "--format", "jsonl", directory)
    assert ran.status == UNREADABLE
    said = ran.err.splitlines()
    assert len(said) == 21
    assert sum(b"was not decoded: a" in line for line in said) == 20
    assert sum(b"more batches were not decoded" in line for line in said) == 1
    assert [row for row in ran.rows if row.get("severity") == "error"] == []
    assert kidx_here("verify", "--jobs", "1", directory).status == CLEAN  # headers and CRCs only


@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize(
    "words",
    [
        ["dump", "--records", "--redact", "--format", "jsonl", LOG],
        ["dump", "--decode", "--decoder", "offsets", "--format", "jsonl", LOG],
        ["dump", "--format", "kafka", "--deep-iteration", LOG],
        ["state", "--decoder", "offsets", "."],
        ["diff", ".", "../other-0"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_every_reader_of_records_stops_inflating(tmp_path: Path, words: list[str], magic: int) -> None:
    directory = a_log_of_bombs(tmp_path, 1, magic=magic)
    a_log_of_bombs(tmp_path, 4, "other-0", magic=2)
    *options, path = words
    if words[0] == "diff":
        options, path = ["diff", str(directory)], str(tmp_path / "other-0")
    else:
        path = str(directory / path)
    ran = bounded(*options, "--max-inflate", ALLOWED, path)
    assert ran.status == UNREADABLE, ran.err[-500:]
    assert b"inflates to more than 100 times its size" in ran.err
    assert ran.err.count(b"inflates to more than 100 times") > BOMBS - 20
    if "--redact" in words:
        assert b"the usual record" not in ran.out
        assert ran.rows[-1]["offset"] == BOMBS  # a batch of a usual ratio is read whatever came before it


@pytest.mark.parametrize("words", [["compact", "--plan"], ["rebuild", "--dry-run"]], ids=" ".join)
def test_readers_that_need_every_record_refuse(tmp_path: Path, words: list[str]) -> None:
    directory = tmp_path / "bombs-0"
    directory.mkdir()
    payload = compress(1, record(0, 0, b"\0\0\0\1", bytes(INFLATED_BYTES)))
    one = batch(payload=payload, codec=1, count=1, last_offset_delta=0, attributes=0x30, producer=(7, 0, -1))
    for base in (0, 50):
        moved = [offset.to_bytes(8, "big") + one[8:] for offset in range(base, base + 50)]
        (directory / f"{base:020d}.log").write_bytes(b"".join(moved))
    ran = bounded(*words, "--max-inflate", ALLOWED, directory)
    assert ran.status == UNREADABLE
    assert b"was not decoded: a gzip batch inflates to more than 100 times its size" in ran.err


@pytest.mark.parametrize("form", [("--records",), ("--records", "--format", "jsonl"), ("--format", "kafka")])
def test_one_value_of_60_mib_in_a_file_of_2_kib(tmp_path: Path, form: tuple[str, ...]) -> None:
    log = tmp_path / "bomb-0" / LOG
    log.parent.mkdir()
    log.write_bytes(batch([record(0, 0, b"key", bytes(60 << 20))], codec=4))
    assert log.stat().st_size < 4096
    ran = bounded("dump", *form, *(["--print-data-log"] if "kafka" in form else []), log)
    assert (ran.status, ran.err) == (CLEAN, b"") and len(ran.out) > 60 << 20
