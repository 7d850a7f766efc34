"""Journals, checkpoints and snapshots of any kind: a documented status, one sentence, nothing outside touched."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

from kidx.cli import run
from kidx.errors import KidxError
from kidx.surgery.journal import new_run
from kidx.surgery.replace import carry_out
from kidx.surgery.undo import plan_undo
from tests.support import KAFKA_SETS
from tests.surgery.support import INDEX, a_change, listing

VALUES: tuple[object, ...] = (
    None, True, 0, -1, 2**63, 10**400, 1.5, float("nan"), "", "x", "..", "../../victim", "/etc/passwd", INDEX,
    "a" * 300, "\x1b]0;x\x07", "0" * 64, [], [[]], {}, {"size": 1}, 0o4755,
)  # fmt: skip
SMALL_FILES = (
    "leader-epoch-checkpoint", "partition.metadata", "00000000000000000000.snapshot", "../meta.properties",
    "../recovery-point-offset-checkpoint", "../log-start-offset-checkpoint", "../cleaner-offset-checkpoint",
)  # fmt: skip
JUNK = (
    b"",
    b"\0" * 4096,
    b"\xff" * 100,
    b"0\n",
    b"0\n9999999999\n",
    b"0\n-1\n",
    b"0\n1\nx y z\n",
    b"[" * 9999,
    b"9" * 5000,
)


def test_journals(tmp_path: Path) -> None:
    chance = random.Random(16)
    for number in range(300):
        directory = tmp_path / str(number) / "plain-0"
        directory.mkdir(parents=True)
        (directory / INDEX).write_bytes(b"one")
        carry_out(a_change(directory / INDEX, b"one", b"two"), new_run())
        book = directory / ".kidx" / "journal.jsonl"
        book.write_bytes(damaged(json.loads(book.read_text()), chance))
        outside = listing(tmp_path / str(number))
        try:
            for step in plan_undo(str(directory.parent)):
                step.carry_out(new_run())
        except KidxError as e:
            assert "\n" not in str(e)
        inside = ("plain-0/" + INDEX, "plain-0/.kidx/")
        now = listing(tmp_path / str(number))
        assert {n: d for n, d in now.items() if not n.startswith(inside)} == {
            n: d for n, d in outside.items() if not n.startswith(inside)
        }
        assert now.get("plain-0/" + INDEX) in (b"one", b"two", None)


def damaged(line: dict, chance: random.Random) -> bytes:
    """The journal with some fields exchanged, or its bytes flipped, cut or repeated."""
    for _ in range(chance.randrange(3)):
        where = chance.choice([line, line["before"]] if isinstance(line["before"], dict) else [line])
        where[chance.choice(list(where))] = chance.choice(VALUES)
    data = bytearray(json.dumps(line).encode() + b"\n")
    if chance.random() < 0.4:
        data[chance.randrange(len(data))] = chance.randrange(256)
    if chance.random() < 0.2:
        del data[chance.randrange(len(data)) :]
    return bytes(data) * chance.choice((1, 1, 2))


def test_small_files(tmp_path: Path) -> None:
    chance = random.Random(17)
    source = KAFKA_SETS[0] / "clean"
    for number in range(12):
        root = tmp_path / str(number)
        shutil.copytree(source / "plain-0", root / "plain-0")
        for name in SMALL_FILES:
            path = root / "plain-0" / name
            junk = chance.choice(JUNK)
            if path.exists() and chance.random() < 0.5:
                junk = bytearray(path.read_bytes())
                junk[chance.randrange(len(junk)) :] = bytes(chance.randrange(9))
            path.write_bytes(junk)
        for command in (("verify",), ("lookup", "--timestamp", "-1"), ("compact", "--plan"), ("dump",), ("stat",)):
            try:
                assert run([*command, str(root / "plain-0")]) in range(4), command
            except KidxError as e:
                assert "\n" not in str(e)
        assert run(["startup", str(root)]) in range(4)
