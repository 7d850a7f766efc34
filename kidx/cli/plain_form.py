"""Command lines read by their words alone: the forms that scripts call thousands of times start without click.

click and what it imports take as long as checking half a gigabyte of log, or formatting a million index entries. So the
commands of PLAIN_FORMS read the plainest form of their command line themselves: paths, a few flags, a few options with
their value in a word of its own. Anything else is click's to judge, wrong words included; a test for each holds both to
the same reading.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping

from kidx.light_typing import Any

# Where each command's `run_plainly(words)` is: its exit status, or None for a command line of another form.
PLAIN_FORMS = {
    ("dump",): "kidx.cli.dumping.run",
    ("verify",): "kidx.cli.verify_run",
    ("rebuild",): "kidx.cli.rebuild_run",
    ("rocketmq", "verify"): "kidx.cli.rocketmq_verify",
}


def run_plainly(args: list[str]) -> int | None:
    """The exit status of a command line of a plain form, None for any other."""
    if "_KIDX_COMPLETE" in os.environ:
        return None
    for count in (1, 2):
        place = PLAIN_FORMS.get(tuple(args[:count]))
        if place is not None:
            status: int | None = _function(place)(args[count:])
            return status
    return None


def _function(place: str) -> Callable[[list[str]], int | None]:
    from sys import modules

    __import__(place)
    function: Callable[[list[str]], int | None] = modules[place].run_plainly
    return function


class PlainForm:
    """The words that a plain form knows: flags, and options with a value; each function reads its option's value.

    Such a function returns None for a value that is not plainly one.
    """

    def __init__(
        self, flags: Collection[str] = (), values: Mapping[str, Callable[[str], Any | None]] | None = None
    ) -> None:
        self._flags, self._values = flags, values or {}

    def read(self, words: list[str]) -> tuple[list[str], dict[str, Any]] | None:
        """The paths, at least one, and what is given of the rest; None for a command line of another form."""
        paths: list[str] = []
        given: dict[str, Any] = {}
        left = iter(words)
        for word in left:
            if word in self._values and word not in given:
                text = next(left, "-")
                value = None if text.startswith("-") else self._values[word](text)
                if value is None:
                    return None
                given[word] = value
            elif word in self._flags:
                given[word] = True
            elif word.startswith("-"):
                return None
            else:
                paths.append(word)
        return (paths, given) if paths else None


def jobs_of(text: str) -> int | None:
    """How many processes, as --jobs has it."""
    plain = text.isascii() and text.isdigit() and len(text) <= 3
    return int(text) if plain and 1 <= int(text) <= 256 else None
