"""How the result of a command is printed: data on stdout, messages on stderr, and the exit status that follows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from typing import TYPE_CHECKING, TypeVar

from kidx import exit_status
from kidx.errors import CannotRead, KidxError, UsageError
from kidx.text.escaping import plain

if TYPE_CHECKING:
    from kidx.findings import Rule
    from kidx.report.findings.render import Checked
    from kidx.tables.table import Table

Item = TypeVar("Item")


def complain(sentence: str) -> None:
    """Write a message to stderr, in kidx's name, after everything that was written to stdout before."""
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"kidx: {plain(sentence)}\n")


def wants_color(choice: str = "auto") -> bool:
    """Whether output is coloured: as chosen, else on a terminal unless NO_COLOR or TERM forbids it."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show_table(table: Table, show: Callable[[Table], None], *, summary_shown: bool = False) -> int:
    """Print a table by `show`, then its notes on stderr; the exit status that the table implies.

    `summary_shown` leaves out the notes whose facts are in the table's summary.
    """
    try:
        show(table)
    finally:
        for note in table.notes:
            if not (summary_shown and note.in_summary):
                complain(note.text)
    return table.status


def print_table(table: Table, form: str, screen: Callable[[Table], None] | None = None, *, iso: bool = False) -> int:
    """Print a table in a format, as text on its own screen where it has one; the exit status that it implies."""
    if form == "text" and screen is not None:
        return show_table(table, screen)
    from kidx.report.formats.render import render

    return show_table(table, lambda t: render(t, form, iso=iso))


def each(items: Iterable[Item | CannotRead], print_item: Callable[[Item], int]) -> int:
    """Print item after item, with `print_item`; the largest of the exit statuses.

    An item that cannot be read does not keep the others from being printed.
    """
    status = exit_status.CLEAN
    for item in items:
        try:
            if isinstance(item, CannotRead):
                raise item
            status = max(status, print_item(item))
        except KidxError as e:
            complain(str(e))
            status = max(status, e.exit_status)
    return status


def status_of(checked: Checked, fail_level: str) -> int:
    """The exit status: 3 where something was not read or nothing was checked, else 1 for findings at `fail_level`."""
    if checked.unread or not checked.coverage.files:
        return exit_status.UNREADABLE
    failing = _failing(fail_level)
    return exit_status.FINDINGS if any(f.severity in failing for f in checked.findings) else exit_status.CLEAN


def print_checked(
    form: str,
    checked: Checked,
    rules: Mapping[str, Rule],
    paths: Sequence[str],
    fail_level: str,
    color: str,
    every: bool,
    verbose: bool,
    statistics: bool = False,
    output: str | None = None,
) -> int:
    """Print the result, and on stderr what could not be read. Returns the exit status.

    `statistics` prints numbers by rule instead of findings; `output` is a file to write to instead of stdout.
    """
    from kidx.report.findings.render import FORMATS, render_checked

    for sentence in checked.unread:
        complain(sentence)
    status = status_of(checked, fail_level)
    with _written_to(output):
        if statistics:
            from kidx.report.findings.rows import statistics_table

            if form in FORMATS:
                raise UsageError(f"--statistics has no place in --format {form}")
            print_table(statistics_table(checked.findings, rules), form)
        else:
            failing, colored = _failing(fail_level), wants_color(color)
            render_checked(form, checked, rules, failing, status, paths, color=colored, every=every, verbose=verbose)
    return status


@contextmanager
def _written_to(path: str | None) -> Iterator[None]:
    """What is printed goes into a file, if one is given: see write_output."""
    if path is None:
        yield
        return
    from kidx.surgery.output import write_output

    with redirect_stdout(StringIO()) as text:
        yield
    write_output(path, text.getvalue())


def _failing(fail_level: str) -> tuple[str, ...]:
    from kidx.findings import SEVERITIES

    return SEVERITIES[: SEVERITIES.index(fail_level) + 1]
