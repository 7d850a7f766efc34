"""The report of kidx scan --report html: one HTML page with inline SVG, without scripts and external resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from kidx.findings import SEVERITIES, Finding
from kidx.text.quantities import counted, size_text

Rows = Sequence[Mapping[str, Any]]

_MOST_ROWS = 100  # of a table on the page; the Parquet and JSON files next to it hold all rows
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
    tables: Mapping[str, Rows],
    counts: Mapping[str, int],
    findings: Sequence[Finding],
    summary: Mapping[str, Any],
    fleet_bytes: int,
) -> str:
    """The page as HTML. `tables` have the most important rows of the fleet's tables (docs/schemas-fleet.md), `counts`
    how many rows there are. `fleet_bytes` is the size of all data files.
    """
    parts = [
        _tiles(summary, fleet_bytes),
        _findings(findings, tables["rules"], tables["topics"]),
        _replicas(tables["replicas"], counts),
        _warm_sections(tables["warm_sections"]),
        _page_cache(tables["brokers"]),
        _stalled(tables["stalled_retention"]),
        _stranded(tables["stranded_groups"]),
        _compaction(tables["compaction_topics"], tables["compaction"], tables["cleaners"]),
        _health(tables["topics"]),
        _unchecked(summary),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>kidx: fleet report</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>Fleet report by kidx</h1>\n" + "\n".join(parts) + "\n</body></html>\n"
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
        return _section("Findings", "None in what was checked.")
    counted = [(str(row["topic"] or "(no topic)"), row["errors"], row["warnings"], row["notes"]) for row in topics]
    affected = sorted((row for row in counted if sum(row[1:])), key=lambda row: (-row[1], -row[2], -row[3]))
    return _section(
        "Findings",
        "By topic, the worst first. All findings are in findings.parquet. kidx explain CODE explains a rule.",
        _bars([(name, [(e, "error"), (w, "warning"), (n, "note")]) for name, e, w, n in affected], str),
        _table(rules, ["rule", "name", "severity", "findings", "files", "partitions"], tone="severity"),
        _table([_finding_row(f) for f in findings], ["severity", "rule", "file", "slot", "message"], tone="severity"),
    )


def _finding_row(finding: Finding) -> Mapping[str, Any]:
    return finding._asdict()


def _replicas(replicas: Rows, counts: Mapping[str, int]) -> str:
    if not replicas:
        return _section("Replicas", "No partition was found on more than one broker; nothing was compared.")
    brokers = sorted({replica["broker"] for row in replicas[:_MOST_BARS] for replica in row["replicas"]})
    bad = [row for row in replicas if not row["agree"]]
    text = (
        f"{counts['differing']:,} of {counts['replicas']:,} partitions differ between brokers."
        if bad
        else f"All {counts['replicas']:,} partitions hold the same batches on every broker that has them, "
        "where their logs overlap."
    )
    rows = [
        {
            "cluster": row["cluster"],
            "topic": row["topic"],
            "partition": row["partition"],
            "from offset": row["diverges_at"],
            "differing": ", ".join(r["broker"] for r in row["replicas"] if r["differs"]),
            "empty": ", ".join(r["broker"] for r in row["replicas"] if r["empty"]),
        }
        for row in bad
    ]
    picture = _replica_map(replicas[:_MOST_BARS], brokers)
    return _section("Replicas", text, picture, _table(rows, list(rows[0])) if rows else "")


def _replica_map(rows: Rows, brokers: Sequence[str]) -> str:
    """A square for each partition and broker that has it: it agrees, lags behind, or differs."""
    left, step, top = 230, 30, 24
    parts = [_text(left + i * step + 6, 15, str(i + 1)) for i in range(len(brokers))]
    for line, row in enumerate(rows):
        y = top + line * step
        parts.append(_text(0, y + 17, f"{row['topic']}-{row['partition']}"))
        for replica in row["replicas"]:
            i, broker = brokers.index(replica["broker"]), replica["broker"]
            if replica["differs"] or replica["empty"]:
                tone = "error"
                tip = "no records" if replica["empty"] else f"differs from offset {row['diverges_at']} on"
            elif replica["behind"]:
                tone, tip = "warning", f"{counted(replica['behind'], 'record')} behind"
            else:
                tone, tip = "good", "agrees"
            parts.append(
                f'<rect x="{left + i * step}" y="{y}" width="22" height="22" rx="4" fill="var(--{tone})">'
                f"<title>{escape(broker)}: {escape(tip)}</title></rect>"
            )
    legend = "; ".join(f"{i + 1}: {broker}" for i, broker in enumerate(brokers))
    picture = _svg(left + step * len(brokers), top + step * len(rows), parts, "Replicas by partition and broker")
    return f"{picture}<p>Red differs or is empty, amber lags behind, green agrees. Brokers: {escape(legend)}</p>"


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
        "The share of each active segment, in percent, that look-ups find through warm index pages alone, the smallest "
        "first. For a consumer that is further behind than warm_records, the broker reads cold pages.",
        _bars(bars, lambda v: f"{v}%"),
        _table(narrow, ["topic", "partition", "broker", "warm_from_offset", "warm_records", "coverage"]),
    )


def _page_cache(rows: Rows) -> str:
    return _section(
        "Page cache for look-ups",
        "The size of the warm sections of all active segments on each broker. Look-ups near the end of the logs "
        "always need these pages in memory.",
        _bars([(_tail(row["broker"]), [(row["page_cache_bytes"], "bar")]) for row in rows], size_text),
    )


def _stalled(rows: Rows) -> str:
    if not rows:
        return _section("Retention", "No segment is retained longer because of a timestamp in the future.")
    bars = [(f"{r['topic']}-{r['partition']} @{r['segment']}", [(r["held_bytes"], "warning")]) for r in rows]
    return _section(
        "Retention stalled by timestamps in the future",
        "Retention by time counts from a segment's largest timestamp, so these segments and all after them are "
        "retained until that time has passed. Bytes retained:",
        _bars(sorted(bars, key=lambda bar: -bar[1][0][0]), size_text),
        _table(rows, ["topic", "partition", "broker", "segment", "largest_timestamp", "segments", "held_bytes"]),
    )


def _stranded(rows: Rows) -> str:
    if not rows:
        return _section("Consumer groups", "Every committed offset that was found lies within its log.")
    ordered = sorted(rows, key=lambda row: -row["records"])
    bars = [
        (
            f"{r['group']}: {r['topic']}-{r['partition']}",
            [(r["records"], "error" if r["why"] == "before_start" else "warning")],
        )
        for r in ordered
    ]
    return _section(
        "Consumer groups whose committed offset is outside of the log",
        "The committed offset lies before the log's start (before_start: records were deleted unread) or after its end "
        "(after_end: the log was truncated, or the topic recreated). Records between the two:",
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
        "One full pass of the cleaner over each topic, as if its cleanup.policy were compact (the files do not say): "
        "bytes kept and bytes saved, the most saved first. Topics with keyless records cannot be compacted and are not "
        "drawn. Checkpointed topics have been compacted before. Below: the dedupe buffer with which a broker cleans "
        "each of its partitions in one pass.",
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


def _section(title: str, text: str, *parts: str) -> str:
    return f"<h2>{escape(title)}</h2>" + (f"<p>{escape(text)}</p>" if text else "") + "".join(parts)


def _bars(rows: Sequence[tuple[str, list[tuple[float, str]]]], as_text: Callable[[float], str]) -> str:
    """Horizontal bars of one or more coloured parts each. A row is (label, [(value, colour), ...])."""
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
                f'fill="var(--{tone})"><title>{escape(label)}: {escape(as_text(value))}</title></rect>'
            )
            x += width
        drawn.append(_text(x + 6, y + 15, " / ".join(as_text(v) for v, _ in parts)))
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
