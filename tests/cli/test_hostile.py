"""Hostile input: random bytes, torn files, odd names, odd kinds of files. Always a documented status, never a bug."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kidx.exit_status import CLEAN, FINDINGS, UNREADABLE, USAGE
from tests.support import FIXTURES, HANG_S, Ran, kidx, kidx_here

SUFFIXES = (".index", ".timeindex", ".txnindex", ".log", ".snapshot", ".checkpoint")
REAL = [
    path.read_bytes()
    for path in sorted((FIXTURES / "kafka-4.3.1/clean").rglob("*"))
    if path.is_file() and path.suffix in SUFFIXES and 0 < path.stat().st_size < 20_000
]


def as_nobody_special(cwd: Path, *words: str) -> Ran:
    """Run kidx as a user for whom permissions count; root gives its capabilities up for that."""
    command = [sys.executable, "-m", "kidx", *words]
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root needs setpriv to be another user")
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    done = subprocess.run(command, cwd=cwd, capture_output=True, timeout=HANG_S, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def hostile_bytes(draw: random.Random) -> bytes:
    """Random bytes of telling sizes, or a real file with some bytes changed, perhaps cut."""
    if draw.random() < 0.4:
        return draw.randbytes(draw.choice([0, 1, 7, 8, 9, 11, 12, 33, 34, 61, 100, 4096, 5000]))
    data = bytearray(draw.choice(REAL))
    for _ in range(draw.randrange(6)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data[: draw.randrange(len(data) + 1)] if draw.random() < 0.3 else data)


def hostile_tree(root: Path, count: int, seed: int) -> list[Path]:
    """`count` such files, ten to a partition: any format's bytes under any format's name."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        directory = root / f"h-{number // 10}"
        directory.mkdir(exist_ok=True)
        base = draw.choice([number, number * 10**14, 2**63 - 1 - number])
        path = directory / f"{base:020d}{draw.choice(SUFFIXES)}"
        path.write_bytes(hostile_bytes(draw))
        made.append(path)
    return made


@pytest.mark.parametrize(
    "words", [["verify", "--jobs", "1", "--format", "jsonl"], ["stat"], ["dump", "--format", "jsonl"]], ids=" ".join
)
def test_thousands_of_random_files_in_a_tree(tmp_path: Path, words: list[str]) -> None:
    hostile_tree(tmp_path, 1000, seed=len(words[0]))
    ran = kidx_here(*words, tmp_path)
    assert ran.status in (CLEAN, FINDINGS, UNREADABLE), ran.err[-2000:]
    assert b"Traceback" not in ran.err
    assert ran.out


@pytest.mark.parametrize(
    "words",
    [
        ["dump"],
        ["dump", "--format", "kafka"],
        ["dump", "--hex"],
        ["stat"],
        ["verify", "--jobs", "1"],
        ["lookup", "--trace-pages", "--search", "both"],
        ["trace"],
    ],
    ids=" ".join,
)
def test_random_files_one_by_one(tmp_path: Path, words: list[str]) -> None:
    for path in hostile_tree(tmp_path, 150, seed=7):
        more = ["0", "4711", str(2**62), "-1"] if words[0] in ("lookup", "trace") else []
        ran = kidx_here(*words, path, *more)
        assert ran.status in (CLEAN, FINDINGS, USAGE, UNREADABLE), (words, path, path.read_bytes(), ran.err)
        assert ran.status in (CLEAN, FINDINGS) or ran.err.strip(), (words, path)


def test_odd_kinds_of_files_in_a_tree_do_not_stop_the_others(tmp_path: Path) -> None:
    partition = tmp_path / "odd-0"
    partition.mkdir()
    good = FIXTURES / "kafka-4.3.1/clean/pages13-0/00000000000000000000.index"
    (partition / "00000000000000000009.index").write_bytes(good.read_bytes())
    os.mkfifo(partition / "00000000000000000001.index")
    (partition / "00000000000000000002.index").mkdir()
    (partition / "00000000000000000003.index").symlink_to("nowhere")
    ran = kidx("verify", "--format", "jsonl", "--jobs", "1", tmp_path)
    assert ran.status == UNREADABLE
    assert ran.rows[-1]["unreadable"] >= 2
    assert ran.rows[-1]["entries"] > 0
    assert b"00000000000000000001.index: it is a FIFO" in ran.err
    assert b"00000000000000000003.index: no such file" in ran.err


@pytest.mark.parametrize("command", ["dump", "stat", "verify"])
def test_what_cannot_be_read_in_a_tree_is_said_and_does_not_stop_the_others(command: str, tmp_path: Path) -> None:
    for name in ("a-0", "lost+found", "z-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{0:020d}.index").write_bytes(b"\0\0\0\1\0\0\0\2")
    os.mkfifo(tmp_path / "a-0" / f"{1:020d}.index")
    (tmp_path / "a-0" / f"{2:020d}.index").symlink_to(f"{2:020d}.index")
    (tmp_path / "lost+found").chmod(0)
    ran = as_nobody_special(tmp_path, command, "--format", "jsonl", ".")
    assert ran.status == UNREADABLE
    for said in (b"1.index: it is a FIFO", b"2.index: too many symbolic links", b"lost+found: permission denied"):
        assert said in ran.err
    if command != "verify":
        assert [row["file"] for row in ran.rows] == [f"./{name}/{0:020d}.index" for name in ("a-0", "z-0")]
    else:
        assert (ran.rows[-1]["files"], ran.rows[-1]["unreadable"]) == (2, 3)


@pytest.mark.parametrize("command", ["dump", "stat", "verify"])
def test_names_of_any_bytes(tmp_path: Path, command: str) -> None:
    directory = os.fsencode(tmp_path) + b"/\xff\x1b[31m\n-0"
    os.mkdir(directory)
    path = directory + b"/00000000000000000000.index"
    Path(os.fsdecode(path)).write_bytes(b"\0\0\0\1\0\0\0\2" * 2)
    for form in ("text", "jsonl", "csv"):
        ran = kidx(command, "--format", form, os.fsdecode(path))
        assert ran.status in (CLEAN, FINDINGS)
        ran.out.decode("utf-8")
        if form == "text":
            assert b"\x1b" not in ran.out + ran.err
        if form == "jsonl":
            assert ran.rows
    # A line of --from-file cannot hold a line break, but a pattern can stand for one.
    listed = kidx(command, "--format", "jsonl", "--from-file", "-", stdin=path.replace(b"\n", b"?") + b"\n")
    assert listed.rows == kidx(command, "--format", "jsonl", os.fsdecode(path)).rows


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["dump", "orders.index"], USAGE, "its name holds no base offset"),
        (["dump", "missing.index"], UNREADABLE, "no such file or directory"),
        (["dump", "00000000000000000009.index"], UNREADABLE, "no such file or directory"),
        (["dump", "99999999999999999999.index"], USAGE, "beyond any offset"),
        (["dump", "--base-offset", str(2**63), "x.index"], USAGE, "--base-offset"),
        (["dump", "--base-offset", "-1", "x.index"], USAGE, "--base-offset"),
        (["dump", "-"], USAGE, "--kind"),
        (["dump"], USAGE, "no path given"),
        (["dump", "--head", "x", "00000000000000000000.index"], USAGE, "--head"),
        (["lookup"], USAGE, "FILE"),
        (["lookup", "00000000000000000000.index"], USAGE, "no target"),
        (["lookup", "00000000000000000000.index", "seven"], USAGE, "'seven'"),
        (["lookup", "00000000000000000000.index", str(2**63)], USAGE, "64 bits"),
        (["verify", "nowhere"], UNREADABLE, "nowhere: no such file or directory"),
        (["verify", "nowhere.index"], UNREADABLE, "nowhere.index: no such file or directory"),
        (["verify", "99999999999999999999.index"], UNREADABLE, "beyond any offset"),
        (["verify", "-"], USAGE, "--kind"),
        (["dump", "nowhere"], UNREADABLE, "nowhere: no such file or directory"),
        (["dump", "--format", "kafka", "nowhere"], UNREADABLE, "nowhere: no such file or directory"),
        (["stat", "nowhere"], UNREADABLE, "nowhere: no such file or directory"),
        (["lookup", "nowhere", "1"], UNREADABLE, "nowhere: no such file or directory"),
        (["lookup", "nowhere", "--offset", "1"], UNREADABLE, "nowhere: no such file or directory"),
        (["trace", "nowhere", "1"], UNREADABLE, "nowhere: no such file or directory"),
        (["rebuild", "nowhere", "--output", "out"], UNREADABLE, "nowhere: no such file or directory"),
        (["state", "nowhere"], UNREADABLE, "nowhere: no such file or directory"),
        (["verify", "--select", "KX999", "."], USAGE, "KX999"),
        (["stat", "00000000000000000009.index"], UNREADABLE, "no such file or directory"),
        (["verify", "--select", "KX105", "--ignore", "KX1", "."], USAGE, "no rule is left"),
        (["lookup", "00000000000000000000.txnindex", "--fetch-from", "5", "--fetch-to", "4"], USAGE, "goes forward"),
        (["trace", "00000000000000000000.txnindex", "4"], USAGE, "no search"),
        (["explain", "KX999"], USAGE, "KX999"),
        (["nonsense"], USAGE, "nonsense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_arguments_are_refused_in_a_sentence(tmp_path: Path, words: list[str], status: int, said: str) -> None:
    there = (
        "00000000000000000000.index",
        "00000000000000000000.txnindex",
        "99999999999999999999.index",
        "orders.index",
    )
    for name in there:
        (tmp_path / name).write_bytes(b"\0\0\0\1\0\0\0\2")
    ran = kidx(*words, cwd=tmp_path)
    assert ran.status == status, ran
    assert said.encode() in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(there)


@pytest.mark.parametrize(
    "words", [["dump"], ["stat"], ["lookup"], ["trace"], ["verify"], ["verify", "--quick"]], ids=" ".join
)
def test_a_forbidden_file_is_status_3_and_does_not_stop_the_others(words: list[str], tmp_path: Path) -> None:
    """click would refuse such a path by itself, as wrong usage, and with it every other path of the command line."""
    names = [f"{base:020d}.index" for base in (1, 2)]
    for name in names:
        (tmp_path / name).write_bytes(b"\0\0\0\1\0\0\0\2")
    (tmp_path / names[0]).chmod(0)
    several = words[0] in ("dump", "stat", "verify")
    ran = as_nobody_special(tmp_path, *words, *(names if several else [names[0], "1"]))
    assert ran.status == UNREADABLE, ran
    assert f"kidx: {names[0]}: permission denied".encode() in ran.err
    assert bool(ran.out) == several


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex"])
def test_every_command_says_that_the_end_is_torn(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.{suffix}"
    path.write_bytes(b"x")
    look = ["--fetch-from", "0", "--fetch-to", "9"] if suffix == "txnindex" else ["7"]
    for words in (["dump", path], ["stat", path], ["verify", path], ["lookup", path, *look], ["trace", path, "7"]):
        if words[0] == "trace" and suffix == "txnindex":
            continue
        ran = kidx_here(*words)
        assert ran.status == (FINDINGS if words[0] == "verify" else CLEAN)
        assert b"torn" in ran.out + ran.err, words
        assert b"-1 " not in ran.out.replace(b"timestamp -1", b""), words


def test_color_only_where_it_is_wanted(tmp_path: Path) -> None:
    index = tmp_path / "00000000000000000000.index"
    index.write_bytes(b"\0\0\0\5\0\0\0\5\0\0\0\1\0\0\0\1")
    plain = kidx("verify", index)
    assert plain.status == FINDINGS
    assert b"\x1b[" not in plain.out  # a pipe
    assert b"\x1b[" in kidx("verify", "--color", "always", index, NO_COLOR="1").out
    assert b"\x1b[" not in kidx("verify", "--color", "never", index).out
    coloured = kidx("verify", "--color", "always", index).out
    assert re.sub(rb"\x1b\[[0-9;]*m", b"", coloured) == plain.out
