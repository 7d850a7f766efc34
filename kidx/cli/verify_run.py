"""One run of `kidx verify`, from paths and options to the exit status."""

from __future__ import annotations

from collections.abc import Iterable

from kidx.checks.engine.options import Options
from kidx.checks.engine.run import check_all
from kidx.checks.engine.targets import targets_of
from kidx.cli import complain
from kidx.cli.color import wants_color
from kidx.cli.progress import Progress
from kidx.cli.verdict import print_verdict, status_of
from kidx.errors import UsageError
from kidx.evidence import STDIN_NAMES, is_uri
from kidx.execution import usual_jobs


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
    remote = any(is_uri(path) for path in asked)
    if remote:
        jobs = 1  # pyarrow's clients of remote stores do not survive a fork; a fleet in a store is for `kidx scan`
    with Progress("checked") as progress:
        checked = check_all(targets_of(asked), options._replace(jobs=jobs or usual_jobs()), progress)
    for sentence in checked.unread:
        complain(sentence)
    failing, status = status_of(checked, fail_level)
    print_verdict(form, checked, failing, status, asked, color=wants_color(color), every=every, verbose=verbose)
    if suggest:
        from kidx.cli.suggesting import print_suggestions

        print_suggestions(form, checked.findings)
    return status
