"""One run of `kidx rocketmq verify`, from stores and options to the exit status."""

from __future__ import annotations

from collections.abc import Sequence

from kidx.cli.checking import print_checked
from kidx.errors import CannotRead
from kidx.evidence import is_uri
from kidx.execution import usual_jobs
from kidx.rocketmq.catalogue import RULES
from kidx.rocketmq.checks.making import Checked
from kidx.rocketmq.open import layout_and_config


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
    remote = any(map(is_uri, (*roots, *commit_log)))
    if remote:
        jobs = 1  # pyarrow's clients of remote stores do not survive a fork
    whole = Checked()
    for root in roots:
        try:
            layout, settings = layout_and_config(root, config, commit_log)
        except CannotRead as e:
            whole.unread.append(str(e))
            whole.coverage.unreadable += 1
            continue
        from kidx.rocketmq.checks.run import check_store

        checked = check_store(layout, settings, crcs=not quick, rules=rules, jobs=jobs or usual_jobs())
        whole.findings += checked.findings
        whole.coverage.add(checked.coverage)
        whole.unread += checked.unread
    if rules is not None:
        from kidx.checks.catalogue import left_out

        whole.coverage.skipped += left_out(rules, RULES)
    return print_checked(form, whole, RULES, roots, fail_level=fail_level, color=color, every=every, verbose=verbose)
