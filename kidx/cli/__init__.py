"""The command line. `main` handles streams, failures and exit statuses; kidx.cli.group lists the commands."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from kidx import exit_status
from kidx.errors import KidxError
from kidx.report.printing import complain
from kidx.text.escaping import NAMES

ENVIRONMENT = {  # the man page lists these
    "NO_COLOR": "If set and not empty, output is not coloured, except with `--color always`.",
    "TERM": "If `dumb`, output is not coloured.",
    "KIDX_TRACEBACK": "If set and not empty, a bug of kidx shows its traceback.",
}


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit. Every failure is one sentence on stderr and a documented exit status."""
    # numpy's linear algebra, which kidx does not use, would start a thread for each core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _prepare_streams()
    try:
        status = run(sys.argv[1:] if args is None else args)
        sys.stdout.flush()
    except KidxError as e:
        status = e.exit_status
        complain(str(e))
    except KeyboardInterrupt:
        status = exit_status.INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe: `| head`
        status = exit_status.CLEAN
    except MemoryError:
        status = exit_status.UNREADABLE
        complain("out of memory; give it more, fewer --jobs, or fewer files at once")
    except OSError as e:  # mostly a full disk: kidx.evidence makes CannotRead of failures to read a file
        status = exit_status.UNREADABLE
        complain(f"{e.filename or 'standard output'}: {(e.strerror or str(e)).lower()}")
    except Exception as e:  # a bug of kidx must never look like a verdict on a file
        status = exit_status.BUG
        complain(f"a bug in kidx itself: {type(e).__name__}: {e}; KIDX_TRACEBACK=1 shows where")
        if os.environ.get("KIDX_TRACEBACK"):
            sys.excepthook(type(e), e, e.__traceback__)
    _discard_unwritten_output()
    sys.exit(status)


def run(args: list[str]) -> int:
    """Run a command line and return its exit status. click's own main() would turn a closed pipe into status 1."""
    from kidx.cli.group import cli

    if "_KIDX_COMPLETE" in os.environ:
        cli.main(prog_name="kidx")  # a shell's request for completions, which click answers and exits
    try:
        with cli.make_context("kidx", args) as context:
            result: Any = cli.invoke(context)
    except click.exceptions.Exit as e:
        return e.exit_code
    except click.UsageError as e:
        from kidx.cli.messages import explain_misuse

        explain_misuse(e)
        return exit_status.USAGE
    except click.Abort:
        return exit_status.INTERRUPTED
    return result if isinstance(result, int) else exit_status.CLEAN


def _prepare_streams() -> None:
    """Make both streams UTF-8 with escapes for undecodable file names; a closed one (`>&-`) discards its output."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open until the process ends
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=NAMES)


def _discard_unwritten_output() -> None:
    """Redirect a stdout that cannot be flushed to /dev/null: Python flushes again at exit and would print an error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
