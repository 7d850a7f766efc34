"""The screen of `verify`: the verdict first, one finding a block, and at the end what was checked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO

from kidx.findings import ERROR, NOTE, SEVERITIES, WARNING, Coverage, Finding, Rule
from kidx.report.findings.skipped import together
from kidx.text.escaping import plain

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
    """Write the screen. `what` is the verdict's subject; `every` shows repeated findings of a rule in a file too."""
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
    """`clean`, or how many errors, warnings and notes; and what could not be read, for that is no verdict."""
    said = ", ".join(
        f"{counts.get(s, 0)} {s}{'' if counts.get(s) == 1 else 's'}" for s in SEVERITIES if s != NOTE or counts.get(s)
    )
    if not counts.get(ERROR) and not counts.get(WARNING):
        notes = counts.get(NOTE, 0)
        said = "clean" + (f", {notes} note{'' if notes == 1 else 's'}" if notes else "")
        if not coverage.files:
            said = "nothing was checked"
    if coverage.unreadable:
        them = "it" if coverage.unreadable == 1 else "them"
        said += f"; {coverage.unreadable} could NOT be read, so nothing is known of {them}"
    return said


def covered(coverage: Coverage) -> str:
    """What was checked and what was not, in one sentence or a few lines."""
    parts = [_count(coverage.files, "file"), size_text(coverage.bytes_checked)]
    checked = [_count(coverage.entries, "index entry", "index entries")]
    if coverage.batches:
        checked.append(_count(coverage.batches, "batch", "batches"))
    said = f"checked {', '.join(parts)}: {' and '.join(checked)}"
    skipped = together(coverage.skipped)
    if not skipped and not coverage.bytes_skipped:
        return said + ("." if coverage.unreadable else "; nothing skipped.")
    size = f" ({size_text(coverage.bytes_skipped)})" if coverage.bytes_skipped else ""
    lines = [said + f"; not checked{size}:"]
    lines += [_INDENT + plain(f"{one.what}: {one.why}") for one in skipped]
    return "\n".join(lines)


def size_text(size: int) -> str:
    """Bytes as people say them: 8.0 KiB."""
    amount = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{size} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def _count(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def place_of(finding: Finding) -> str:
    """Entry and bytes of a finding, as far as it has them."""
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
    from textwrap import wrap  # a clean bill of health needs none

    return wrap(
        label + plain(text),
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT + "  " * bool(label),
        break_long_words=False,
        break_on_hyphens=False,
    )
