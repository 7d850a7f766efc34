"""Which kidx command repairs a finding, and what the common remedy, deleting indexes and restarting, costs instead."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kidx.errors import KidxError
from kidx.evidence import file_size, is_file
from kidx.findings import Finding, Rule
from kidx.logdir.names import INDEX_OF_KIND, LOG, parse_file_name
from kidx.logdir.tree import Partition
from kidx.surgery.index_interval import Interval
from kidx.surgery.state_files import is_state_file

_NOTHING_TO_REPAIR = "nothing to repair: a broker trims the index when the segment rolls or the log closes"


class Suggestion(NamedTuple):
    """What to do about a rule's findings in one file. `findings` is their number. `command` is None if no kidx command
    repairs them; `advice` then says what does (empty: see the rule's story). `reread_bytes` is how much of the log a
    broker reads at its start if the segment's index is deleted instead, and `reread_partition_bytes` if all indexes of
    the partition are; None if deleting an index repairs nothing.
    """

    rule: str
    severity: str
    file: str
    findings: int
    command: str | None
    advice: str
    reread_bytes: int | None
    reread_partition_bytes: int | None


def suggest(
    findings: Iterable[Finding], rules: Mapping[str, Rule], interval_of: Callable[[str], Interval] | None = None
) -> list[Suggestion]:
    """A suggestion for each rule and file among the findings, in their order.

    `interval_of` gives the index.interval.bytes of the partition in a directory; without it, commands do not give an
    interval.
    """
    counted: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        counted.setdefault((finding.rule, finding.file), []).append(finding)
    return [_suggestion(rules[code], file, found, interval_of) for (code, file), found in counted.items()]


def _suggestion(
    rule: Rule, file: str, found: list[Finding], interval_of: Callable[[str], Interval] | None
) -> Suggestion:
    command, reread, reread_all = None, None, None
    log = _log_beside(file)
    if rule.repair.startswith("kidx rebuild") and log is not None:
        directory = os.path.dirname(log)
        interval = f" --index-interval-bytes {interval_of(directory).bytes}" if interval_of else ""
        command = _command("kidx rebuild", log, f"--in-place{interval}")
        reread, reread_all = _size(log), _partition_log_bytes(directory)
    elif "kidx rebuild FILE" in rule.repair and is_state_file(file):
        command = _command("kidx rebuild", file, "--in-place")
    elif rule.repair.startswith("kidx trim"):
        if _broker_trims(file):
            return Suggestion(rule.code, found[0].severity, file, len(found), None, _NOTHING_TO_REPAIR, None, None)
        command = _command("kidx trim", file)
    advice = "" if command else rule.repair
    return Suggestion(rule.code, found[0].severity, file, len(found), command, advice, reread, reread_all)


def shell_word(path: str) -> str:
    r"""A path quoted for a shell; one with control characters or undecodable bytes as $'...' (bash, zsh, ksh)."""
    if path.isprintable():
        return shlex.quote(path)
    escaped_path = "".join(c if c.isprintable() and c not in "\\'" else _shell_escape(c) for c in path)
    return f"$'{escaped_path}'"


def _shell_escape(c: str) -> str:
    return rf"\{c}" if c in "\\'" else "".join(rf"\x{byte:02x}" for byte in os.fsencode(c))


def _broker_trims(index: str) -> bool:
    """Whether a preallocated index is as a broker keeps it: of the active segment, or left by an unclean stop."""
    name, partition = parse_file_name(index), Partition(os.path.dirname(index))
    try:
        active = partition.active_segment
        is_active = active is not None and name is not None and active.base_offset == name.base_offset
        return is_active or partition.stopped_cleanly() is False
    except KidxError:
        return False


def _command(command: str, path: str, options: str = "") -> str:
    """A command line quoted for a shell; a path that begins with a dash comes last, after `--`."""
    if path.startswith("-"):
        return " ".join(filter(None, (command, options, "--", shell_word(path))))
    return " ".join(filter(None, (command, shell_word(path), options)))


def _log_beside(file: str) -> str | None:
    """The log of the segment that a file belongs to: itself, or the one next to it; None if there is none."""
    name = parse_file_name(file)
    if name is None or name.state or name.kind not in (LOG, *INDEX_OF_KIND):
        return None
    log = os.path.splitext(file)[0] + ".log"
    return log if is_file(log) else None


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
