"""Which kidx command mends a finding, and what the folk remedy, deleting indexes and restarting, costs instead."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kidx.errors import KidxError
from kidx.evidence import file_size
from kidx.findings import Finding, Rule
from kidx.logdir.names import INDEX_OF_KIND, LOG, parse_file_name
from kidx.logdir.tree import Partition


class Suggestion(NamedTuple):
    """What to do about a rule's findings in one file. `findings` is how many they are.

    `command` is None where no kidx command mends it; `advice` then says what does (empty: see its rule's story).
    `reread_bytes` is how much of the log a broker reads at its start if the segment's index is deleted instead, and
    `reread_partition_bytes` if all indexes of the partition are; None where deleting an index mends nothing.
    """

    rule: str
    severity: str
    file: str
    findings: int
    command: str | None
    advice: str
    reread_bytes: int | None
    reread_partition_bytes: int | None


def suggest(findings: Iterable[Finding], rules: Mapping[str, Rule]) -> list[Suggestion]:
    """A suggestion for each rule and file among the findings, in their order."""
    counted: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        counted.setdefault((finding.rule, finding.file), []).append(finding)
    return [_suggestion(rules[code], file, found) for (code, file), found in counted.items()]


def _suggestion(rule: Rule, file: str, found: list[Finding]) -> Suggestion:
    command, reread, reread_all = None, None, None
    log = _log_beside(file)
    if rule.repair.startswith("kidx rebuild") and log is not None:
        command = f"kidx rebuild {shlex.quote(log)} --in-place"
        reread, reread_all = _size(log), _partition_log_bytes(os.path.dirname(log))
    elif rule.repair.startswith("kidx trim"):
        command = f"kidx trim {shlex.quote(file)}"
    advice = "" if command else rule.repair
    return Suggestion(rule.code, found[0].severity, file, len(found), command, advice, reread, reread_all)


def _log_beside(file: str) -> str | None:
    """The log of the segment that a file belongs to: itself, or the one beside it; None where there is none."""
    name = parse_file_name(file)
    if name is None or name.base_offset is None or name.state:
        return None
    if name.kind not in (LOG, *INDEX_OF_KIND):
        return None
    log = os.path.splitext(file)[0] + ".log"
    return log if os.path.isfile(log) else None


def _partition_log_bytes(directory: str) -> int | None:
    try:
        return sum(s.files[LOG].size() for s in Partition(directory or ".").segments)
    except KidxError:
        return None


def _size(path: str) -> int | None:
    try:
        return file_size(path)
    except KidxError:
        return None
