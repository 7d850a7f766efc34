"""The screen of kidx verify: the verdict, a block for each finding, and what was checked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO

from kidx.findings import ERROR, NOTE, SEVERITIES, WARNING, Coverage, Finding, Rule
from kidx.report.findings.rows import skipped_by_reason
from kidx.text.escaping import plain
from kidx.text.quantities import counted, size_text

_COLORS = {ERROR: "\x1b[1;31m", WARNING: "\x1b[33m", NOTE: "\x1b[36m"}
_PLAIN = "\x1b[0m"
_INDENT = " " * 8
_WIDTH = 80
_SHOWN_OF_A_RULE = 20  # in one file; of notes: in all files


def render_verdict(
    findings: Sequence[Finding],
    coverage: Coverage,
    rules: Mapping[str, Rule],
    out: IO[str],
    *,
    what: str,
    color: bool = False,
    every: bool = False,
    verbose: bool = False,
) -> None:
    """Write the screen. `what` is the verdict's subject. `every` also shows findings beyond _SHOWN_OF_A_RULE."""
    counts = Counter(f.severity for f in findings)
    out.write(f"{plain(what)}: {verdict(counts, coverage)}\n")
    explained: set[str] = set()
    seen: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        key = finding.rule, "" if finding.severity == NOTE else finding.file
        seen[key] += 1
        if every or seen[key] <= _SHOWN_OF_A_RULE:
            out.write("\n" + _block(finding, rules[finding.rule], color, verbose or finding.rule not in explained))
            explained.add(finding.rule)
    hidden = {key: count - _SHOWN_OF_A_RULE for key, count in seen.items() if count > _SHOWN_OF_A_RULE}
    if hidden and not every:
        out.write("\n")
        for (code, file), count in hidden.items():
            where = f" in {plain(file)}" if file else ""
            out.write(f"{count:,} more {code} {rules[code].name}{where}: --all shows them\n")
    out.write(("\n" if findings else "") + covered(coverage) + "\n")


def verdict(counts: Mapping[str, int], coverage: Coverage) -> str:
    """`clean`, or the numbers of errors, warnings and notes; and how many files could not be read."""
    text = ", ".join(counted(counts.get(s, 0), s) for s in SEVERITIES if s != NOTE or counts.get(s))
    if not counts.get(ERROR) and not counts.get(WARNING):
        text = "clean" + (f", {counted(counts[NOTE], 'note')}" if counts.get(NOTE) else "")
        if not coverage.files:
            text = "nothing was checked"
    if coverage.unreadable:
        them = "it" if coverage.unreadable == 1 else "them"
        text += f"; {coverage.unreadable} could NOT be read, so nothing is known about {them}"
    return text


def covered(coverage: Coverage) -> str:
    """What was checked and what was skipped, in one sentence or a few lines."""
    parts = [counted(coverage.files, "file"), size_text(coverage.bytes_checked)]
    checked = [counted(coverage.entries, "index entry", "index entries")]
    if coverage.batches:
        checked.append(counted(coverage.batches, "batch", "batches"))
    text = f"checked {', '.join(parts)}: {' and '.join(checked)}"
    skipped = skipped_by_reason(coverage.skipped)
    if not skipped and not coverage.bytes_skipped:
        return text + ("." if coverage.unreadable else "; nothing skipped.")
    size = f" ({size_text(coverage.bytes_skipped)})" if coverage.bytes_skipped else ""
    lines = [text + f"; not checked{size}:"]
    lines += [_INDENT + plain(f"{item.what}: {item.why}") for item in skipped]
    return "\n".join(lines)


def place_of(finding: Finding) -> str:
    """The entry and the bytes of a finding, as far as they are known: `entry 3 (bytes 24-31)`."""
    span = ""
    if finding.byte_start is not None and finding.byte_end is not None:
        span = f"bytes {finding.byte_start}-{max(finding.byte_start, finding.byte_end - 1)}"
    if finding.slot is None:
        return span
    return f"entry {finding.slot}" + (f" ({span})" if span else "")


def _block(finding: Finding, rule: Rule, color: bool, in_full: bool) -> str:
    severity = f"{finding.severity:<8}"
    if color:
        severity = f"{_COLORS[finding.severity]}{severity}{_PLAIN}"
    place = place_of(finding)
    lines = [f"{severity}{rule.code} {rule.name}  {plain(finding.file)}" + (f"  {place}" if place else "")]
    lines += _wrapped("", finding.message)
    if in_full and finding.severity != NOTE:
        lines += _wrapped("broker: ", finding.broker)
        if rule.repair:
            from shlex import quote

            directory = quote(os.path.dirname(finding.file) or ".")
            lines += _wrapped("repair: ", rule.repair.replace("DIRECTORY", directory).replace("FIXED", "fixed/"))
    if in_full:
        lines.append(f"{_INDENT}why: kidx explain {rule.code}")
    return "\n".join(lines) + "\n"


def _wrapped(label: str, text: str) -> list[str]:
    from textwrap import wrap

    return wrap(
        label + plain(text),
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT + "  " * bool(label),
        break_long_words=False,
        break_on_hyphens=False,
    )
