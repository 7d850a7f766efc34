"""`kidx dump [--format F] FILE...` read without click: one form of command line that scripts call thousands of times.

click and what it imports take as long as formatting a million entries. So this one form, with no other option and
whose every default is also Dump's, is recognised by its words alone. Anything else is click's to judge, wrong words
included; a test holds both to the same reading.
"""

from __future__ import annotations

import os

from kidx.light_typing import NamedTuple

FORMS = ("kafka", "text", "json", "jsonl", "csv")


class PlainDump(NamedTuple):
    """What such a command line asks for."""

    form: str
    paths: list[str]


def read(args: list[str]) -> PlainDump | None:
    """The command line, or None where it is of another form."""
    if args[:1] != ["dump"] or "_KIDX_COMPLETE" in os.environ:
        return None
    form, paths = "text", args[1:]
    if paths[:1] == ["--format"] and len(paths) > 1:
        form, paths = paths[1], paths[2:]
    if form not in FORMS or not paths or any(path.startswith("-") for path in paths):
        return None
    return PlainDump(form, paths)
