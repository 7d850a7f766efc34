"""A whole run: checks every target, in forked processes if there are several, and merges the sorted findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial

from kidx.checks.catalogue import RULES
from kidx.checks.engine.discovery import checks_of
from kidx.checks.engine.log_dirs import check_log_dirs
from kidx.checks.engine.options import Options
from kidx.checks.engine.partition import check_target
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.targets import Target
from kidx.checks.subjects.log_dirs import LogDirs
from kidx.checks.subjects.replicas import CommittedOffset, ReplicaSet, RetainedSegments
from kidx.errors import CannotRead
from kidx.evidence import reading_rate
from kidx.execution import run_forked
from kidx.findings import Finding, left_out
from kidx.formats.compression import inflation_budget

_TARGETS_A_JOB = 4  # fewer could leave a process with one large log and the others idle


def check_all(
    targets: Iterable[Target | CannotRead],
    options: Options,
    progress: Callable[[int, int], None] | None = None,
    each_checked: Callable[[Target, CheckResult], None] | None = None,
) -> CheckResult:
    """Check every target; findings are sorted by file, position and rule, whichever process found them.

    Many targets are shared out among `options.jobs` processes; a few are checked in turn, with that many processes for
    each large log. `progress` gets how many of how many targets are done, `each_checked` each target and its result.
    """
    whole = CheckResult()
    asked: list[Target] = []
    for target in targets:
        if isinstance(target, Target):
            asked.append(target)
        else:
            add(whole, unreadable(str(target)))
    shared_out = len(asked) >= _TARGETS_A_JOB * options.jobs
    jobs = options.jobs if shared_out else 1
    each = options._replace(jobs=1) if shared_out else options
    log_dirs = LogDirs()
    check = partial(check_target, options=each, log_dirs=log_dirs)
    rate = options.bytes_per_second and options.bytes_per_second / options.jobs
    with inflation_budget(options.max_inflate_bytes), reading_rate(rate):
        for done, (target, checked) in enumerate(run_forked(check, asked, jobs), 1):
            add(whole, checked)
            if each_checked:
                each_checked(target, checked)
            if progress:
                progress(done, len(asked))
        whole_directories = [target.directory for target in asked if target.names is None]
        add(whole, check_log_dirs(whole_directories, options, log_dirs, whole.findings))
        if options.remote:
            from kidx.checks.engine.reconcile import reconcile

            add(whole, reconcile(whole_directories, options, log_dirs, whole.findings))
    if options.rules is not None and options.rules <= fleet_rules():
        whole.skip("the rules selected", "they compare directories of a fleet; `kidx scan` does")
    finish(whole, options)
    return whole


@cache
def fleet_rules() -> frozenset[str]:
    """The codes of the rules that only a scan of a fleet examines."""
    subjects = ReplicaSet, CommittedOffset, RetainedSegments
    return frozenset(rule.code for subject in subjects for check in checks_of(subject) for rule in check.rules)


def add(whole: CheckResult, part: CheckResult) -> None:
    """Add what a part found and covered to the whole."""
    # A fork's findings come with copies of the rule's text; the catalogue's own serves all of them.
    part.findings = [f._replace(broker=RULES[f.rule].broker) for f in part.findings]
    whole.add(part)


def unreadable(sentence: str) -> CheckResult:
    """A result for what could not be listed."""
    checked = CheckResult()
    checked.cannot("", sentence)
    return checked


def finish(whole: CheckResult, options: Options) -> None:
    """List the rules that were left out, and sort findings and sentences."""
    whole.coverage.skipped += left_out(options.rules, RULES)
    whole.findings.sort(key=_order)
    whole.unread = sorted(set(whole.unread))  # a key that is missing keeps many files from being read
    whole.coverage.skipped.sort()


def _order(finding: Finding) -> tuple[str, int, str]:
    return finding.file, -1 if finding.byte_start is None else finding.byte_start, finding.rule
