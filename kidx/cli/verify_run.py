"""One run of `kidx verify`, from paths and options to the exit status; and its plain form, read without click.

click and what it imports take as long as checking half a gigabyte of log. So the form of command line that scripts use
most, paths and no option but --jobs and --deep, is recognised by its words alone. Anything else is click's to judge,
wrong words included; a test holds both to the same reading.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from kidx.checks.options import DEEP, DEFAULT, Options
from kidx.checks.run import check_all
from kidx.checks.targets import targets_of
from kidx.cli import complain
from kidx.cli.color import wants_color
from kidx.cli.progress import Progress
from kidx.cli.verdict import print_verdict, status_of
from kidx.errors import UsageError
from kidx.evidence import STDIN_NAMES, is_uri
from kidx.forks import cpu_count
from kidx.light_numpy import light_numpy
from kidx.logdir.tree import expand

MOST_JOBS = 256


def verify_paths(
    paths: Iterable[str],
    options: Options,
    jobs: int | None = None,
    *,
    form: str = "text",
    fail_level: str = "warning",
    color: str = "auto",
    every: bool = False,
    verbose: bool = False,
    suggest: bool = False,
) -> int:
    """Check what paths (globs expanded) stand for, print the verdict, and return the exit status."""
    asked = list(paths)
    if suggest:
        from kidx.cli.suggesting import refuse_other_forms

        refuse_other_forms(form)
    if options.kind is None and any(path in STDIN_NAMES for path in asked):
        raise UsageError("standard input has no name that says what it is; add --kind")
    if any(is_uri(path) for path in asked):
        jobs = 1  # pyarrow's clients of remote stores do not survive a fork; a fleet in a store is for `kidx scan`
    with Progress("checked") as progress, light_numpy(options.level != DEEP):
        checked = check_all(targets_of(asked), options._replace(jobs=jobs or min(2, cpu_count())), progress)
    for sentence in checked.unread:
        complain(sentence)
    failing, status = status_of(checked, fail_level)
    print_verdict(form, checked, failing, status, asked, color=wants_color(color), every=every, verbose=verbose)
    if suggest:
        from kidx.cli.suggesting import print_suggestions

        print_suggestions(form, checked.findings)
    return status


def read_plain(args: list[str]) -> tuple[list[str], int | None, str] | None:
    """Paths, jobs and level of `kidx verify [--deep] [--jobs N] PATH...`; None for a command line of another form."""
    if args[:1] != ["verify"] or "_KIDX_COMPLETE" in os.environ:
        return None
    paths: list[str] = []
    jobs, level = None, DEFAULT
    words = iter(args[1:])
    for word in words:
        if word == "--jobs" and jobs is None:
            number = next(words, "")
            if not (number.isascii() and number.isdigit() and len(number) <= 3 and 1 <= int(number) <= MOST_JOBS):
                return None
            jobs = int(number)
        elif word == "--deep":
            level = DEEP
        elif word.startswith("-"):
            return None
        else:
            paths.append(word)
    return (paths, jobs, level) if paths else None


def verify_plainly(paths: list[str], jobs: int | None, level: str) -> int:
    """Run a command line of the plain form."""
    return verify_paths(expand(paths), Options(level=level), jobs)
