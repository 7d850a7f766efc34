"""A journal's lines: those that kidx can have written, and each way in which a line is none of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kidx.errors import CannotRead
from kidx.evidence import from_bytes
from kidx.surgery.journal import SCHEMA, Entry, backup_name, encode, read_journal, standing_entry

Fields = dict[str, Any]
ONE, TWO, THREE = ("1" * 64, "2" * 64, "f" * 64)
INDEX = f"{0:020d}.index"
STATE = {"size": 3, "sha256": ONE, "mode": 0o640, "uid": 0, "gid": 0, "mtime_ns": 0}
LINE: Fields = {
    "schema": SCHEMA,
    "id": "i",
    "run": "r",
    "time": "t",
    "kidx": "k",
    "command": "append",
    "file": INDEX,
    "before": STATE,
    "after_sha256": TWO,
    "after_size": 0,
    "backup": backup_name(INDEX, ONE),
    "undoes": None,
}


def read(*lines: object) -> list[Entry]:
    return read_journal(
        from_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines), "d/.kidx/journal.jsonl"),
        of_log_dir=False,
    )


def state(**fields: object) -> Fields:
    return {"before": STATE | fields}


SOUND: dict[str, Fields] = {
    "as written": {},
    "of a new file": {"before": None, "backup": None},
    "of a file that was removed": {"after_sha256": None, "after_size": None},
    "of an undo": {"undoes": "j"},
    "the largest numbers": state(size=2**63 - 1, uid=2**63 - 1, mtime_ns=2**63 - 1, mode=0o777),
    "no bytes": state(size=0, mode=0),
    "a time index": {
        "file": f"{7:020d}.timeindex",
        "backup": backup_name(f"{7:020d}.timeindex", ONE),
    },
}


@pytest.mark.parametrize("fields", SOUND.values(), ids=SOUND)
def test_a_line_that_kidx_can_have_written(fields: Fields) -> None:
    (entry,) = read(LINE | fields)
    assert json.loads(encode(entry)) == LINE | fields


FORGED: dict[str, Fields | Callable[[Fields], object]] = {
    "another schema": {"schema": "kidx.journal.v2"},
    "a field too few": lambda line: {k: v for k, v in line.items() if k != "time"},
    "a field too many": {"more": 1},
    "a list": lambda line: [line],
    "a state that is a list": {"before": list(STATE)},
    "a state with a field too few": {"before": {k: v for k, v in STATE.items() if k != "uid"}},
    **{f"{name} {value}": state(**{name: value}) for name in ("size", "uid", "gid", "mtime_ns", "mode")
       for value in (-1, True, "1", 2**63)},
    "a mode beyond permissions": state(mode=0o1000),
    "a hash too short": state(sha256="1" * 63) | {"backup": backup_name(INDEX, "1" * 63)},
    "a hash of other letters": state(sha256="A" * 64) | {"backup": backup_name(INDEX, "A" * 64)},
    "a hash that is a number": state(sha256=1),
    **{f"{name} is a number": {name: 1} for name in ("id", "run", "time", "kidx", "command", "file", "undoes")},
    "no command": {"command": None},
    **{f"the file {name}": {"file": name, "backup": backup_name(name, ONE)} for name in (
        f"../{INDEX}", f"/{INDEX}", f"{0:020d}.log", f"x\0/{INDEX}", f"\0{INDEX}", "notes.txt", ""
    )},
    "another backup": {"backup": backup_name(INDEX, TWO)},
    "no backup": {"backup": None},
    "a backup of nothing": {"before": None},
    "a hash without a size": {"after_size": None},
    "a size without a hash": {"after_sha256": None},
    "a hash after that is none": {"after_sha256": "x"},
    "a negative size": {"after_size": -1},
    "a size that is a truth": {"after_size": True},
    "a size that is a text": {"after_size": "1"},
}  # fmt: skip


@pytest.mark.parametrize("forged", FORGED.values(), ids=[name.replace("\0", "0") for name in FORGED])
def test_a_line_that_kidx_cannot_have_written(forged: Fields | Callable[[Fields], object]) -> None:
    line = forged(LINE) if callable(forged) else LINE | forged
    with pytest.raises(CannotRead, match=r"d/\.kidx/journal\.jsonl: a line in it is not of kidx's journal"):
        read(LINE, line)


def test_a_line_that_a_crash_cut_short_is_left_out() -> None:
    data = json.dumps(LINE).encode()
    assert len(read_journal(from_bytes(data[:50] + b"\n" + data + b"\n"), of_log_dir=False)) == 1


def change(number: int, before: str | None, undoes: str | None = None, file: str = INDEX) -> Entry:
    was = None if before is None else STATE | {"sha256": before}
    backup = None if before is None else backup_name(file, before)
    fields = {"id": str(number), "file": file, "before": was, "backup": backup, "undoes": undoes}
    return read(LINE | fields)[0]


def test_the_newest_change_that_happened_and_was_not_taken_back() -> None:
    first, second = change(1, None), change(2, ONE)
    other = change(9, ONE, file=f"{5:020d}.index")

    def standing(*entries: Entry, now: str | None) -> str | None:
        found = standing_entry(list(entries), INDEX, now)
        return found and found.id

    assert standing(now=None) is None
    assert standing(other, now=TWO) is None
    assert standing(first, other, now=ONE) == "1"
    assert standing(first, now=None) is None  # it did not happen
    assert standing(first, second, now=TWO) == "2"
    assert standing(first, second, now=ONE) == "1"  # the second did not happen
    undo = change(3, TWO, undoes="2")
    assert standing(first, second, undo, now=ONE) == "1"
    assert standing(first, second, undo, now=TWO) == "2"  # the undo did not happen
    assert standing(first, second, undo, change(4, ONE, undoes="1"), now=None) is None
    assert standing(first, second, undo, change(5, ONE), now=THREE) == "5"
