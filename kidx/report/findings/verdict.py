"""The screen of kidx verify: the verdict, a block for each finding, and what was checked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

from kidx.findings import ERROR, NOT_HELD, NOTE, SEVERITIES, WARNING, Coverage, Finding, Rule
from kidx.logdir.names import parse_partition_name
from kidx.report.findings.rows import skipped_by_reason
from kidx.report.screens.lines import aligned
from kidx.text.escaping import plain
from kidx.text.quantities import counted, size_text

_COLORS = {ERROR: "\x1b[1;31m", WARNING: "\x1b[33m", NOTE: "\x1b[36m"}
_PLAIN = "\x1b[0m"
_INDENT = " " * 8
_WIDTH = 80
_SHOWN_OF_A_RULE = 20  # in one file
_SHOWN = 200  # on one screen
_FEW = 10  # so many findings need no summary
_TOPICS_SHOWN = 20
_NOTES_SHOWN = 3  # of one rule; more of them are one line
_CHOSEN = ("--quick", "not in the sample", "left out by")  # reasons that are the user's own options


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
    total = verdict(counts, coverage)
    out.write(f"{plain(what)}: {total}\n")
    explained: set[str] = set()
    seen: Counter[tuple[str, str]] = Counter()
    folded: dict[str, list[Finding]] = {}
    notes = Counter(f.rule for f in findings if f.severity == NOTE)
    shown = 0
    for finding in sorted(findings, key=_on_screen):
        if finding.severity == NOTE and notes[finding.rule] > _NOTES_SHOWN and not every:
            folded.setdefault(finding.rule, []).append(finding)
            continue
        key = finding.rule, finding.file
        seen[key] += 1
        if every or (seen[key] <= _SHOWN_OF_A_RULE and shown < _SHOWN):
            out.write("\n" + _block(finding, rules[finding.rule], color, verbose or finding.rule not in explained))
            explained.add(finding.rule)
            shown += 1
    if folded:
        out.write("\n")
    for code, found in folded.items():
        directories = len({os.path.dirname(f.file) for f in found})
        out.write(
            f"{_severity(NOTE, color)}{code} {rules[code].name}: {counted(len(found), 'time')} in "
            f"{counted(directories, 'directory', 'directories')}, first {plain(found[0].file)}; --all lists them\n"
        )
    _write_hidden(seen, shown, rules, out)
    if shown > _FEW:
        out.write("\n" + "\n".join(map(str.rstrip, _summary(findings, rules))) + "\n")
    out.write(("\n" if findings else "") + covered(coverage) + "\n")
    if shown > _FEW:
        out.write(total + "\n")


def _write_hidden(seen: Counter[tuple[str, str]], shown: int, rules: Mapping[str, Rule], out: IO[str]) -> None:
    """Say how many findings have no block: by rule and file, or in one line where the whole screen was full."""
    more = sum(seen.values()) - shown
    if not more:
        return
    out.write("\n")
    if shown >= _SHOWN:
        out.write(f"{more:,} more: --all shows them\n")
        return
    for (code, file), count in seen.items():
        if count > _SHOWN_OF_A_RULE:
            hidden = count - _SHOWN_OF_A_RULE
            out.write(f"{hidden:,} more {code} {rules[code].name} in {plain(file)}: --all shows them\n")


def _summary(findings: Sequence[Finding], rules: Mapping[str, Rule]) -> Iterator[str]:
    """The findings counted by rule, then by topic, the worst first."""
    by_rule = Counter((SEVERITIES.index(f.severity), f.rule) for f in findings)
    yield from aligned(
        [
            (f"{count:,}", SEVERITIES[severity], f"{code} {rules[code].name}")
            for (severity, code), count in sorted(by_rule.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
        ],
        [True, False, False],
    )
    topics: dict[str, Counter[str]] = {}
    for finding in findings:
        topics.setdefault(_topic_of(finding.file), Counter())[finding.severity] += 1
    worst = sorted(topics, key=lambda topic: ([-topics[topic][severity] for severity in SEVERITIES], topic))
    cells = [(*(f"{topics[t][s]:,}" for s in SEVERITIES), plain(t)) for t in worst[:_TOPICS_SHOWN]]
    yield ""
    yield from aligned([(*(f"{s}s" for s in SEVERITIES), "topic"), *cells], [True] * len(SEVERITIES) + [False])
    if len(worst) > _TOPICS_SHOWN:
        yield f"and {counted(len(worst) - _TOPICS_SHOWN, 'topic')} more"


def _topic_of(file: str) -> str:
    """The topic that a file belongs to, else the directory that it is in."""
    for path in (os.path.dirname(file), file):  # a file in a partition, or the partition's directory itself
        name = parse_partition_name(path) if path else None
        if name is not None:
            return name.topic
    return os.path.dirname(file) or "."


def _on_screen(finding: Finding) -> tuple[int, str, int, int, str]:
    """The order of the screen: the worst first, then by place."""
    start, slot = (-1 if value is None else value for value in (finding.byte_start, finding.slot))
    return SEVERITIES.index(finding.severity), finding.file, start, slot, finding.rule


def verdict(counts: Mapping[str, int], coverage: Coverage) -> str:
    """`clean`, or the numbers of errors, warnings and notes; and what was not read or not held against a log.

    What the user left out by an option is no reason not to say clean; the lines below the findings list it.
    """
    gaps = _gaps(coverage)
    text = ", ".join(counted(counts.get(s, 0), s) for s in SEVERITIES if s != NOTE or counts.get(s))
    if not counts.get(ERROR) and not counts.get(WARNING):
        if not coverage.files:
            text = "nothing was checked"
        elif gaps:
            text = "no damage in what was checked"
        else:
            text = "clean"
        if coverage.files and counts.get(NOTE):
            text += f", {counted(counts[NOTE], 'note')}"
    return "; ".join([text, *gaps])


def _gaps(coverage: Coverage) -> list[str]:
    """What keeps a verdict from covering everything, as phrases."""
    gaps = []
    if coverage.unreadable:
        gaps.append(f"{counted(coverage.unreadable, 'file')} could NOT be read")
    others = [item.why for item in coverage.skipped if not item.why.startswith(_CHOSEN)]
    if alone := sum(NOT_HELD in why for why in others):
        gaps.append(f"{counted(alone, 'file')} {'was' if alone == 1 else 'were'} not held against a log")
    if coverage.bytes_skipped and any(NOT_HELD not in why for why in others):
        gaps.append(f"{size_text(coverage.bytes_skipped)} were not checked")
    return gaps


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
    place = place_of(finding)
    lines = [
        f"{_severity(finding.severity, color)}{rule.code} {rule.name}  {plain(finding.file)}"
        + (f"  {place}" if place else "")
    ]
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


def _severity(severity: str, color: bool) -> str:
    return f"{_COLORS[severity]}{severity:<8}{_PLAIN}" if color else f"{severity:<8}"


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
