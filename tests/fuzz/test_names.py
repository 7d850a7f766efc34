"""Names of files and directories of any kind: a documented status, and nothing in them reaches a terminal raw."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

from tests.support import KAFKA_SETS, kidx_here

PIECES = (
    b"\x1b]0;x\x07", b"\x1b[31m", b"\n", b"\r", b"\t", b"\x7f", b"\xff\xfe", b"\xc2\x9b1m", "\u202e".encode(), b" ",
    b"'", b'"', b"$(x)", b"`x`", b"-", b"--help", b"%s", b"{p}", b"*", b"[a]", b"<svg>", b"&amp;", b"=1+1", b"..",
    b"0" * 200, b"9" * 20, b"00000000000000000000", b"plain", b"__consumer_offsets", b".", b"~",
)  # fmt: skip
SUFFIXES = (
    b".log", b".index", b".timeindex", b".txnindex", b".snapshot", b".checkpoint", b".deleted", b".log.swap",
    b".index.cleaned", b"-0", b"-1.0123456789abcdef0123456789abcdef-delete", b"-99999999999", b"-0-future", b"",
)  # fmt: skip
RAW = (b"\x1b", b"\x07", b"\r", b"\x7f", b"\xc2\x9b", "\u202e".encode())
COMMANDS = (
    ("verify",), ("verify", "--suggest", "--quick"), ("stat",), ("stat", "--by", "partition"), ("startup",),
    ("state",), ("rebuild", "--dry-run"), ("dump", "--tail", "1"),
)  # fmt: skip


def a_name(chance: random.Random) -> bytes:
    """A name of pieces, with a suffix or without."""
    name = b"".join(chance.choices(PIECES, k=chance.randrange(1, 4)))[:200] + chance.choice(SUFFIXES)
    return name if name not in (b"", b".", b"..") else b"x"


def test_names(tmp_path: Path) -> None:
    chance = random.Random(18)
    source = KAFKA_SETS[0] / "clean"
    for number in range(10):
        root = tmp_path / str(number)
        shutil.copytree(source / "plain-0", root / "plain-0")
        shutil.copy(source / "meta.properties", root)
        data = (source / "plain-0" / "00000000000000000000.index").read_bytes()
        for _ in range(6):
            directory = os.fsencode(root / chance.choice(("", "plain-0")))
            path = os.path.join(directory, a_name(chance))
            if os.path.lexists(path):
                continue
            if chance.random() < 0.4:
                shutil.copytree(os.fsencode(source / "plain-0"), path)
            elif chance.random() < 0.2:
                os.symlink(b"nowhere", path)
            else:
                Path(os.fsdecode(path)).write_bytes(data[: chance.choice((0, 8, 13, len(data)))])
        for command in COMMANDS:
            ran = kidx_here(*command, root)
            assert ran.status in range(4), (command, ran.err)
            assert not [raw for raw in RAW if raw in ran.out + ran.err], (command, number)
        ran = kidx_here("verify", "--format", "jsonl", root)
        assert all("schema" in json.loads(line) for line in ran.out.decode("utf-8", "surrogateescape").splitlines())
