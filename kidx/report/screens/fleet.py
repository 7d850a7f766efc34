"""The screen of kidx scan, below the verdict: a few lines about the fleet, exceptions by name, the rest as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from kidx.text.quantities import counted, size_text

Rows = Sequence[Mapping[str, Any]]

_MOST_NAMED = 5


def render_fleet(tables: Mapping[str, Rows], counts: Mapping[str, int], out: IO[str]) -> None:
    """Write the lines. `tables` have the fleet's most important rows by name (docs/schemas-fleet.md), `counts` how many
    rows there are.
    """
    out.write("\n")
    for label, line in _lines(tables, counts):
        out.write(f"{label:<12}{line}\n")


def _lines(tables: Mapping[str, Rows], counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    brokers, replicas = tables["brokers"], tables["replicas"]
    size = size_text(sum(row["log_bytes"] for row in brokers))
    yield "fleet", f"{counted(len(brokers), 'log dir')}, {counted(len(tables['topics']), 'topic')}, {size} of logs"
    clusters = sorted({row["cluster"] for row in brokers if row["cluster"] is not None})
    if len(clusters) > 1:
        named = ", ".join(clusters[:_MOST_NAMED]) + (", ..." if len(clusters) > _MOST_NAMED else "")
        yield "clusters", f"{len(clusters):,}, not compared with each other: {named}"
    other = [row for row in replicas if not row["agree"]]
    if replicas:
        agreeing, shared = counts["replicas"] - counts["differing"], counts["replicas"]
        yield "replicas", f"{agreeing:,} of {shared:,} shared partitions agree"
    for row in other[:_MOST_NAMED]:
        yield "", _differing(row)
    behind = [row for row in replicas if any(r["behind"] and not r["empty"] for r in row["replicas"])]
    for row in behind[:_MOST_NAMED]:
        late = ", ".join(f"{r['broker']} by {r['behind']:,}" for r in row["replicas"] if r["behind"] and not r["empty"])
        yield "", f"{_name(row)} lags: {late} records"
    narrow = sorted(tables["warm_sections"], key=lambda row: (row["coverage"], row["warm_records"]))[:1]
    for row in narrow:
        yield (
            "look-ups",
            f"least warm: {_name(row)}, cold for consumers more than {row['warm_records']:,} records behind",
        )
    need = max(brokers, key=lambda row: int(row["page_cache_bytes"]), default=None)
    if need is not None and need["page_cache_bytes"]:
        yield "page cache", f"warm index pages take up to {size_text(need['page_cache_bytes'])} ({need['broker']})"
    stalled = sorted(tables["stalled_retention"], key=lambda row: -row["held_bytes"])
    for row in stalled[:_MOST_NAMED]:
        where, held = f"{_name(row)}, segment {row['segment']}", size_text(row["held_bytes"])
        yield "retention", f"{where}: a timestamp in the future, which retains {held}"
    stranded = sorted(tables["stranded_groups"], key=lambda row: -row["records"])
    for row in stranded[:_MOST_NAMED]:
        yield "groups", _stranded(row)
    yield from _compaction(tables["compaction_topics"], tables["cleaners"])
    lists = counts["differing"], len(behind), counts["stalled_retention"], counts["stranded_groups"]
    hidden = sum(max(0, number - _MOST_NAMED) for number in lists)
    if hidden:
        yield "", f"{hidden:,} more lines like these are in the tables that --out writes"


def _differing(row: Mapping[str, Any]) -> str:
    empty = [replica["broker"] for replica in row["replicas"] if replica["empty"]]
    if row["diverges_at"] is None:
        return f"{_name(row)} has no records on {', '.join(empty)}"
    differing = ", ".join(replica["broker"] for replica in row["replicas"] if replica["differs"])
    return f"{_name(row)} differs from offset {row['diverges_at']} on: {differing}"


def _compaction(topics: Rows, brokers: Rows) -> Iterator[tuple[str, str]]:
    """The topics that cleaning would shrink most, and the memory it needs. Without --compaction, nothing."""
    shrinking = [row for row in topics if row["bytes_saved"] and not row["keyless"]]
    if topics and not shrinking:
        yield "compaction", "no topic whose records all have keys would shrink"
    for row in shrinking[:_MOST_NAMED]:
        saved, before = size_text(row["bytes_saved"]), size_text(row["bytes_before"])
        yield "compaction", f"{row['topic']} would shrink by {saved} of {before}"
    need = max(brokers, key=lambda row: int(row["smallest_dedupe_buffer_bytes"] or 0), default=None)
    if need is not None and need["neediest"]:
        size = size_text(need["smallest_dedupe_buffer_bytes"])
        yield "", f"one pass needs a dedupe buffer of up to {size} ({need['neediest']} on {need['broker']})"


def _stranded(row: Mapping[str, Any]) -> str:
    where = f"{row['group']} has committed {row['committed']} in {_name(row)}"
    if row["why"] == "before_start":
        return f"{where}, which begins at {row['log_start']}: {row['records']:,} records were deleted unread"
    return f"{where}, which ends at {row['log_end']}, {row['records']:,} records earlier"


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['topic']}-{row['partition']}" if row["topic"] is not None else str(row["broker"])
