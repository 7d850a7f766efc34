"""The command line's frame: streams, failures, exit statuses. The commands themselves are in kidx.cli.group."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from kidx.cli import exit_status
from kidx.errors import KidxError
from kidx.text.escaping import NAMES, plain


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


def _leave(status: int) -> None:
    """End the process."""
    try:
        sys.stdout.flush()
    except OSError:
        # Python flushes again at exit and would complain; give it somewhere harmless to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
