"""One self-contained HTML page about a fleet: tiles, pictures as inline SVG, tables. No script, nothing loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from kidx.findings import SEVERITIES, Finding

Rows = Sequence[Mapping[str, Any]]

_MOST_ROWS = 100  # of a table on the page; the Parquet and JSON files beside it hold all
_MOST_BARS = 20
_STYLE = """
:root{color-scheme:light dark;--ground:#fff;--ink:#1c2430;--faint:#667;--line:#d8dde5;--card:#f5f7fa;
--error:#c62f2f;--warning:#b97a00;--note:#3572b0;--good:#2f8f4e;--bar:#3572b0}
@media(prefers-color-scheme:dark){:root{--ground:#14181e;--ink:#e4e8ee;--faint:#98a2b0;--line:#333b46;--card:#1d232b;
--error:#ff7b72;--warning:#e3b341;--note:#79b8ff;--good:#56d364;--bar:#79b8ff}}
body{background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}p{color:var(--faint);max-width:75ch}
.tiles{display:flex;flex-wrap:wrap;gap:.7rem}.tile{background:var(--card);border:1px solid var(--line);
border-radius:.5rem;padding:.6rem 1rem}.tile b{display:block;font-size:1.4rem}
.error{color:var(--error)}.warning{color:var(--warning)}.note{color:var(--note)}.good{color:var(--good)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}
th,td{padding:.2rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}
"""


def fleet_page(
    tables: Mapping[str, Rows], findings: Sequence[Finding], summary: Mapping[str, Any], fleet_bytes: int
) -> str:
    """The page. `tables` are the fleet's: brokers, topics, rules, warm_sections, stalled_retention, stranded_groups,
    replicas, compaction, compaction_topics, cleaners.
    """
    parts = [
        _tiles(summary, fleet_bytes),
        _findings(findings, tables["rules"], tables["topics"]),
        _replicas(tables["replicas"]),
        _warm_sections(tables["warm_sections"]),
        _page_cache(tables["brokers"]),
        _stalled(tables["stalled_retention"]),
        _stranded(tables["stranded_groups"]),
        _compaction(tables["compaction_topics"], tables["compaction"], tables["cleaners"]),
        _health(tables["topics"]),
        _unchecked(summary),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>kidx: a fleet scanned</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>A fleet's log dirs, scanned by kidx</h1>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _tiles(summary: Mapping[str, Any], fleet_bytes: int) -> str:
    counts = summary["findings"]
    tiles = [(f"{counts[s]:,}", f"{s}s", s if counts[s] else "good") for s in SEVERITIES]
    tiles += [
        (f"{summary['files']:,}", "files checked", ""),
        (size_text(fleet_bytes), "in the fleet", ""),
        (f"{summary['entries']:,}", "index entries", ""),
        (f"{summary['batches']:,}", "batches", ""),
        (f"{summary['unreadable']:,}", "unreadable", "error" if summary["unreadable"] else "good"),
    ]
    return (
        '<div class="tiles">'
        + "".join(f'<div class="tile"><b class="{tone}">{value}</b>{escape(what)}</div>' for value, what, tone in tiles)
        + "</div>"
    )


def _findings(findings: Sequence[Finding], rules: Rows, topics: Rows) -> str:
    if not findings:
        return _section("Findings", "None: everything that was checked is in order.")
    counted = [(str(row["topic"] or "(no topic)"), row["errors"], row["warnings"], row["notes"]) for row in topics]
    blamed = sorted((row for row in counted if sum(row[1:])), key=lambda row: (-row[1], -row[2], -row[3]))
    return _section(
        "Findings",
        "By topic, the worst first; every finding is in findings.parquet. kidx explain CODE tells a rule's story.",
        _bars([(name, [(e, "error"), (w, "warning"), (n, "note")]) for name, e, w, n in blamed], str),
        _table(rules, ["rule", "name", "severity", "findings", "files", "partitions"], tone="severity"),
        _table([_finding_row(f) for f in findings], ["severity", "rule", "file", "slot", "message"], tone="severity"),
    )


def _finding_row(finding: Finding) -> Mapping[str, Any]:
    return finding._asdict()


def _replicas(replicas: Rows) -> str:
    if not replicas:
        return _section("Replicas", "No partition was found on more than one broker, so there was nothing to compare.")
    brokers = sorted({broker for row in replicas for broker in row["replicas"]})
    bad = [row for row in replicas if not row["agree"]]
    said = (
        f"{len(bad):,} of {len(replicas):,} partitions differ between brokers."
        if bad
        else f"All {len(replicas):,} partitions hold the same batches on every broker that has them, "
        "as far as their logs overlap."
    )
    shown = sorted(replicas, key=lambda row: (row["agree"], not row["behind"]))[:_MOST_BARS]
    rows = [
        {
            "topic": row["topic"],
            "partition": row["partition"],
            "from offset": row["diverges_at"],
            "differing": ", ".join(row["differing"]),
        }
        for row in bad
    ]
    return _section("Replicas", said, _replica_map(shown, brokers), _table(rows, list(rows[0])) if rows else "")


def _replica_map(rows: Rows, brokers: Sequence[str]) -> str:
    """A square for each partition and broker: agrees, lags behind, differs, or is not there."""
    left, step, top = 230, 30, 24
    parts = [_text(left + i * step + 6, 15, str(i + 1)) for i in range(len(brokers))]
    for line, row in enumerate(rows):
        y = top + line * step
        parts.append(_text(0, y + 17, f"{row['topic']}-{row['partition']}"))
        for i, broker in enumerate(brokers):
            if broker not in row["replicas"]:
                continue
            behind = row["behind"].get(broker, 0)
            if broker in row["differing"]:
                tone, said = "error", f"differs from offset {row['diverges_at']} on"
            elif behind:
                tone, said = "warning", f"{behind:,} records behind"
            else:
                tone, said = "good", "agrees"
            parts.append(
                f'<rect x="{left + i * step}" y="{y}" width="22" height="22" rx="4" fill="var(--{tone})">'
                f"<title>{escape(broker)}: {escape(said)}</title></rect>"
            )
    legend = "; ".join(f"{i + 1}: {broker}" for i, broker in enumerate(brokers))
    picture = _svg(left + step * len(brokers), top + step * len(rows), parts, "Replicas by partition and broker")
    return f"{picture}<p>Red differs, amber lags behind, green agrees. Brokers: {escape(legend)}</p>"


def _warm_sections(rows: Rows) -> str:
    if not rows:
        return ""
    narrow = sorted(rows, key=lambda row: (row["coverage"], -row["warm_records"]))
    bars = [
        (f"{row['topic']}-{row['partition']}", [(round(100 * row["coverage"], 1), "bar")])
        for row in narrow[:_MOST_BARS]
    ]
    return _section(
        "Warm sections",
        "How much of each active segment a look-up reaches through warm index pages alone, in percent, the least "
        "first. A consumer further behind than warm_records makes its broker read cold pages.",
        _bars(bars, lambda v: f"{v}%"),
        _table(narrow, ["topic", "partition", "broker", "warm_from_offset", "warm_records", "coverage"]),
    )


def _page_cache(rows: Rows) -> str:
    return _section(
        "Page cache for look-ups",
        "What the warm sections of all active segments take on each broker: memory that look-ups near the log's end "
        "always need.",
        _bars([(_tail(row["broker"]), [(row["page_cache_bytes"], "bar")]) for row in rows], size_text),
    )


def _stalled(rows: Rows) -> str:
    if not rows:
        return _section("Retention", "No segment is kept longer by a timestamp in the future.")
    bars = [(f"{r['topic']}-{r['partition']} @{r['segment']}", [(r["held_bytes"], "warning")]) for r in rows]
    return _section(
        "Retention stalled by timestamps in the future",
        "Retention by time counts from a segment's largest timestamp; these and all segments after them stay until "
        "long after. Bytes held:",
        _bars(sorted(bars, key=lambda bar: -bar[1][0][0]), size_text),
        _table(rows, ["topic", "partition", "broker", "segment", "largest_timestamp", "ahead_ms", "held_bytes"]),
    )


def _stranded(rows: Rows) -> str:
    if not rows:
        return _section("Consumer groups", "No committed offset was found that its log does not hold.")
    ordered = sorted(rows, key=lambda row: -row["records"])
    bars = [
        (
            f"{r['group']}: {r['topic']}-{r['partition']}",
            [(r["records"], "error" if r["why"] == "before_start" else "warning")],
        )
        for r in ordered
    ]
    return _section(
        "Consumer groups that lost their place",
        "Their committed offset lies before the log's start (before_start: those records went unread) or after its end "
        "(after_end: the log was cut, or the topic made anew). Records between the two:",
        _bars(bars, lambda records: f"{records:,}"),
        _table(ordered, ["group", "topic", "partition", "why", "committed", "log_start", "log_end", "records"]),
    )


def _compaction(topics: Rows, partitions: Rows, brokers: Rows) -> str:
    if not topics:
        return ""
    bars = [
        (row["topic"], [(row["bytes_after"], "bar"), (row["bytes_saved"], "warning")])
        for row in topics
        if not row["keyless"] and row["bytes_before"]
    ]
    names = ["topic", "partitions", "checkpointed", "records", "keyless", "distinct_keys", "bytes_before"]
    needs = ["broker", "smallest_dedupe_buffer_bytes", "expected_collision_rate", "neediest", "not_judged"]
    failing = [row for row in partitions if row["why_not"]]
    return _section(
        "What compaction would save",
        "One full pass of the cleaner over each topic, as if its cleanup.policy were compact, which files do not say: "
        "bytes kept and bytes saved, the most saved first. Topics with keyless records cannot be compacted and are not "
        "drawn; checkpointed ones have been before. Below: the dedupe buffer that cleans each of a broker's partitions "
        "in one pass.",
        _bars(bars, size_text),
        _table(topics, [*names, "bytes_saved"]),
        _table(brokers, needs),
        _table(failing, ["topic", "partition", "broker", "why_not"]),
    )


def _health(rows: Rows) -> str:
    names = ["topic", "partitions", "segments", "log_bytes", "index_bytes", "zero_tail_bytes", "index_entries"]
    names += ["log_bytes_per_entry", "segments_without_entries", "errors", "warnings", "notes"]
    return _section("Index health by topic", "", _table(rows, names))


def _unchecked(summary: Mapping[str, Any]) -> str:
    if not summary["skipped"]:
        return _section("Coverage", f"{size_text(summary['bytes_checked'])} checked; nothing skipped.")
    return _section("Coverage", "Not checked, and why:", _table(summary["skipped"], ["what", "why"]))


def size_text(size: float) -> str:
    """1536 -> 1.5 KiB."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024 or unit == "TiB":
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")


def _section(title: str, said: str, *parts: str) -> str:
    return f"<h2>{escape(title)}</h2>" + (f"<p>{escape(said)}</p>" if said else "") + "".join(parts)


def _bars(rows: Sequence[tuple[str, list[tuple[float, str]]]], told: Callable[[float], str]) -> str:
    """Horizontal bars, each of one or more coloured parts: (label, [(value, colour), ...])."""
    shown = rows[:_MOST_BARS]
    largest = max((sum(v for v, _ in parts) for _, parts in shown), default=0) or 1
    drawn = []
    for line, (label, parts) in enumerate(shown):
        y, x = line * 24, 240.0
        drawn.append(_text(0, y + 15, label if len(label) <= 34 else "…" + label[-33:]))
        for value, tone in parts:
            width = 620 * value / largest
            drawn.append(
                f'<rect x="{x:.1f}" y="{y + 2}" width="{max(width, 1.5 if value else 0):.1f}" height="18" '
                f'fill="var(--{tone})"><title>{escape(label)}: {escape(told(value))}</title></rect>'
            )
            x += width
        drawn.append(_text(x + 6, y + 15, " / ".join(told(v) for v, _ in parts)))
    picture = _svg(1000, max(24 * len(shown), 1), drawn, "Bars by name")
    return picture + (f"<p>{len(rows) - len(shown):,} more are not drawn.</p>" if len(rows) > len(shown) else "")


def _svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _tail(path: str) -> str:
    return path if len(path) <= 34 else "…" + path[-33:]


def _table(rows: Rows, names: Sequence[str], tone: str = "") -> str:
    if not rows:
        return ""
    head = "".join(f"<th{_right(rows[0].get(name))}>{escape(name.replace('_', ' '))}</th>" for name in names)
    lines = []
    for row in rows[:_MOST_ROWS]:
        cells = "".join(f"<td{_right(row[name])}>{_mark(_cell(row[name]), name, tone)}</td>" for name in names)
        lines.append(f"<tr>{cells}</tr>")
    more = f"<p>{len(rows) - _MOST_ROWS:,} more rows are not shown.</p>" if len(rows) > _MOST_ROWS else ""
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(lines)}</table></div>{more}'


def _right(value: Any) -> str:
    return ' class="n"' if isinstance(value, int | float) else ""


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return escape(f"{value:,}" if isinstance(value, int) else str(value))


def _mark(text: str, name: str, tone: str) -> str:
    return f'<span class="{text}">{text}</span>' if name == tone else text
