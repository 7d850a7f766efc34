"""The command line's frame: streams, failures, exit statuses. The commands themselves are in kidx.cli.group."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from kidx.cli import exit_status
from kidx.errors import CannotRead, KidxError
from kidx.text.escaping import NAMES, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kidx.tables.table import Table

Item = TypeVar("Item")


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit. Every failure is one sentence on standard error and a documented status."""
    # numpy's linear algebra, which kidx never uses, would start a thread a core: a third of numpy's import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _mend_streams()
    try:
        from kidx.cli.group import run

        status = run(sys.argv[1:] if args is None else args)
        sys.stdout.flush()
    except KidxError as e:
        status = e.exit_status
        complain(str(e))
    except KeyboardInterrupt:
        status = exit_status.INTERRUPTED
    except BrokenPipeError:  # the reader went away: `| head`
        status = exit_status.CLEAN
    except MemoryError:
        status = exit_status.UNREADABLE
        complain("out of memory; give it more, fewer --jobs, or fewer files at once")
    except OSError as e:  # evidence has sentences of its own for files; what is left is mostly a full disk
        status = exit_status.UNREADABLE
        complain(f"{e.filename or 'standard output'}: {(e.strerror or str(e)).lower()}")
    except Exception as e:  # the last resort: a bug of kidx never looks like a verdict on a file
        status = exit_status.BUG
        complain(f"a bug in kidx itself: {type(e).__name__}: {e}; KIDX_TRACEBACK=1 shows where")
        if os.environ.get("KIDX_TRACEBACK"):
            sys.excepthook(type(e), e, e.__traceback__)
    _leave(status)


def _mend_streams() -> None:
    """Output is UTF-8 whatever the locale, no character fails (data files hold any bytes), and `>&-` discards it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=NAMES)


def complain(sentence: str) -> None:
    """Say something on standard error, in kidx's name, after what standard output was given so far."""
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"kidx: {plain(sentence)}\n")


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


def _leave(status: int) -> None:
    """End the process."""
    try:
        sys.stdout.flush()
    except OSError:
        # Python flushes again at exit and would complain; give it somewhere harmless to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
