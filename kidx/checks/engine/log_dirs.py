"""Log dirs as a whole: their entries, whose they are, and what the cluster's metadata assigns to them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.options import Options
from kidx.checks.engine.result import CheckResult
from kidx.checks.subjects.log_dirs import JudgedLogDir, JudgedLogDirs, LogDirs, is_log_dir
from kidx.errors import CannotRead
from kidx.evidence import absolute, system_failures
from kidx.findings import ERROR, Finding, limited
from kidx.logdir.log_dir import LogDir


def check_log_dirs(
    directories: Iterable[str], options: Options, log_dirs: LogDirs, found: Iterable[Finding]
) -> CheckResult:
    """Check the directories that are log dirs, each by itself and all together.

    Their files have been checked by then, with these findings: nothing is counted as covered. One that cannot be listed
    has been reported.
    """
    done = CheckResult()
    with system_failures() as failures:
        try:
            done.findings = _findings(directories, options, log_dirs, found)
        except CannotRead as e:
            done.cannot("", str(e))
    done.failed(failures)
    return done


def _findings(
    directories: Iterable[str], options: Options, log_dirs: LogDirs, found: Iterable[Finding]
) -> list[Finding]:
    damaged = {absolute(os.path.dirname(f.file)) for f in found if f.severity == ERROR}
    judged = []
    for directory in {absolute(each): each for each in directories if is_log_dir(each)}.values():
        log_dir = LogDir(directory)
        try:
            log_dir.entries  # noqa: B018  (listed here, once)
        except CannotRead:
            continue
        judged.append(JudgedLogDir(log_dir, log_dirs.cluster_of(log_dir), damaged, live=options.live))
    findings: list[Finding] = []
    for each in judged:
        findings += limited(findings_about(each))
    findings += limited(findings_about(JudgedLogDirs(judged)))
    return [f for f in findings if options.wants(f)]
