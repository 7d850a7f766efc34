"""One run of `kidx rocketmq verify`, from stores and options to the exit status; and its plain form, without click.

As in kidx.cli.verify_run: a command line of stores and nothing else (but --jobs) is recognised by its words alone,
for click would take as long to start as it takes to check a hundred thousand messages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kidx.cli import complain
from kidx.cli.color import wants_color
from kidx.cli.verdict import print_verdict, status_of
from kidx.errors import CannotRead
from kidx.forks import cpu_count
from kidx.light_numpy import light_numpy
from kidx.rocketmq.catalogue import RULES
from kidx.rocketmq.checks.making import Checked
from kidx.rocketmq.open import layout_and_config

MOST_JOBS = 256


def verify_stores(
    roots: Sequence[str],
    *,
    config: str | None = None,
    commit_log: tuple[str, ...] = (),
    rules: frozenset[str] | None = None,
    quick: bool = False,
    jobs: int | None = None,
    form: str = "text",
    fail_level: str = "warning",
    color: str = "auto",
    every: bool = False,
    verbose: bool = False,
) -> int:
    """Check stores, print the verdict, and return the exit status. `rules` are those to report, None for all."""
    whole = Checked()
    for root in roots:
        try:
            layout, settings = layout_and_config(root, config, commit_log)
        except CannotRead as e:
            whole.unread.append(str(e))
            whole.coverage.unreadable += 1
            continue
        with light_numpy():  # what is sound asks for no more
            from kidx.rocketmq.checks.run import check_store

            checked = check_store(layout, settings, crcs=not quick, rules=rules, jobs=jobs or min(2, cpu_count()))
        whole.findings += checked.findings
        whole.coverage.add(checked.coverage)
        whole.unread += checked.unread
    for sentence in whole.unread:
        complain(sentence)
    failing, status = status_of(whole, fail_level)
    print_verdict(
        form, whole, failing, status, roots, rules=RULES, color=wants_color(color), every=every, verbose=verbose
    )
    return status


def read_plain(args: list[str]) -> tuple[list[str], int | None] | None:
    """Stores and jobs of `kidx rocketmq verify [--jobs N] STORE...`; None for a command line of another form."""
    if args[:2] != ["rocketmq", "verify"] or "_KIDX_COMPLETE" in os.environ:
        return None
    roots: list[str] = []
    jobs = None
    words = iter(args[2:])
    for word in words:
        if word == "--jobs" and jobs is None:
            number = next(words, "")
            if not (number.isascii() and number.isdigit() and len(number) <= 3 and 1 <= int(number) <= MOST_JOBS):
                return None
            jobs = int(number)
        elif word.startswith("-"):
            return None
        else:
            roots.append(word)
    return (roots, jobs) if roots else None
