"""Appends and truncations: the bytes that Kafka's classes leave, or that they refuse."""

from __future__ import annotations

import random
from pathlib import Path

from tests.interop.lab import Program
from tests.interop.ledger import Ledger
from tests.interop.questions import run

_SUFFIXES = {"offset": ".index", "time": ".timeindex", "aborted": ".txnindex"}


def writes(kafka: Program, ledger: Ledger, chance: random.Random, scratch: Path, count: int) -> None:
    """New indexes of random entries, right ones mostly, each then cut somewhere."""
    for n in range(count):
        kind = chance.choice(tuple(_SUFFIXES))
        base = chance.choice((0, 7, 1000, 5_000_000_000, 2**53))
        size = chance.choice((8, 12, 24, 80, 100, 4096))
        entries = [":".join(map(str, entry)) for entry in _entries(chance, kind, base)]
        ours, theirs = (_place(scratch, who, n, base, kind) for who in ("ours", "theirs"))
        _, told = kafka.ask("append", kind, theirs, base, size, *entries)
        command = ["append", "--create", *([] if kind == "aborted" else ["--max-index-size", size])]
        ran = run(*command, ours, "--", *entries)
        asked = (*command, ours.name, *entries)
        ledger.compare("append.taken", asked, ran.status == 0, told == "ok")
        if told == "ok" and ran.status == 0:
            ledger.compare("append", asked, ours.read_bytes().hex(), theirs.read_bytes().hex())
            if kind != "aborted" and entries:
                _truncate(kafka, ledger, chance, kind, base, ours, theirs, entries)


def _truncate(
    kafka: Program,
    ledger: Ledger,
    chance: random.Random,
    kind: str,
    base: int,
    ours: Path,
    theirs: Path,
    entries: list[str],
) -> None:
    if not ours.stat().st_size:
        return
    offset = int(chance.choice(entries).split(":")[0 if kind == "offset" else 1]) + chance.choice((-1, 0, 1, 10))
    offset = max(offset, base)
    before = ours.read_bytes().hex()
    kafka.ask("truncate", kind, theirs, base, offset)
    ran = run("truncate", ours, "--to", offset)
    asked = ("truncate", kind, before, "--to", offset)
    ledger.compare("truncate", asked, (ran.status, ours.read_bytes().hex()), (0, theirs.read_bytes().hex()))


def _place(scratch: Path, who: str, n: int, base: int, kind: str) -> Path:
    directory = scratch / who / str(n)
    directory.mkdir(parents=True)
    return directory / f"{base:020d}{_SUFFIXES[kind]}"


def _entries(r: random.Random, kind: str, base: int) -> list[tuple[int, ...]]:
    entries: list[tuple[int, ...]] = []
    key, value = base, 0
    for _ in range(r.randrange(1, 14)):
        key += r.choice((0, 1, 5, 1000, 2**31)) if r.random() < 0.15 else r.randrange(1, 50)
        value += r.randrange(5000) if r.random() < 0.9 else -r.randrange(3)
        # kidx takes no transaction that was aborted before its segment; Kafka's class does, and no broker asks it to.
        at = base - 1 if base and kind != "aborted" and r.random() < 0.03 else key
        if kind == "offset":
            entries.append((at, max(0, value)))
        elif kind == "time":
            entries.append((1_700_000_000_000 + value, at))
        else:
            first = max(base, at - r.randrange(20))
            entries.append((r.randrange(5), min(first, at), at, at + r.randrange(1, 9)))
    return entries
