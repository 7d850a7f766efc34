"""The fleet's tables, from facts made by hand and from real directories."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

from kidx.findings import Finding
from kidx.logdir.tree import Partition
from kidx.pipeline.consumer_groups import Commit, Contents, stranded_groups
from kidx.pipeline.fleet import TABLES, as_objects, fleet_of
from kidx.pipeline.inventory import Place
from kidx.pipeline.replica_comparison import compare_replicas
from kidx.pipeline.replicas import bucket_sums
from kidx.pipeline.segment_facts import SegmentFacts, segment_facts
from kidx.report.screens.fleet import render_fleet
from kidx.report.screens.fleet_page import fleet_page
from tests.pipeline.support import SET

NOW = 1_800_000_000_000


def facts(directory: str, base: int, *, active: bool = False, timestamp: int = 0, log: int = 1000) -> SegmentFacts:
    return SegmentFacts(directory, base, "", active, log, 80, 10, 5, 0, base + 99, base + 50, 4, timestamp)


def judged(topic: str, *, before: int, after: int, why_not: str | None = None) -> dict[str, Any]:
    """What a cleaning makes of a partition, as compaction.judge_compaction gives it."""
    place = {"broker": "/b", "topic": topic, "partition": 0}
    dropped = {"superseded": 3, "tombstone": 0, "aborted": 0, "keyless": 0, "control": 0}
    sizes = {"records": 9, "kept": 6, "dropped": dropped, "bytes_before": before, "bytes_after": after}
    dirty = {"first_dirty": 0, "first_uncleanable": 9, "checkpointed": True, "distinct_keys": 6, "ends_new": False}
    told = sizes | dirty
    return place | (dict.fromkeys(told) if why_not else told) | {"why_not": why_not}


def finding(file: str, severity: str = "error", rule: str = "KX105") -> Finding:
    return Finding(rule, severity, file, 0, 8, 0, None, None, "m", "b")


def test_groups_add_up_and_name_brokers_by_their_log_dirs() -> None:
    segments = [facts("/b1/t-0", 0), facts("/b1/t-0", 100, active=True), facts("/b2/t-1", 0, active=True)]
    fleet = fleet_of(segments, [finding("/b1/t-0/x.index"), finding("/b2/t-1/x.index", "note")], [], NOW)
    one, two = fleet["brokers"]
    assert (one["broker"], one["segments"], one["log_bytes"], one["errors"]) == ("/b1", 2, 2000, 1)
    assert (two["broker"], two["page_cache_bytes"], two["notes"]) == ("/b2", 4 * 4096, 1)
    (topic,) = fleet["topics"]
    assert (topic["topic"], topic["partitions"], topic["log_bytes_per_entry"]) == ("t", 2, 100)
    assert [row["partition"] for row in fleet["partitions"]] == [0, 1]
    assert [(r["rule"], r["severity"], r["findings"]) for r in fleet["rules"]] == [
        ("KX105", "error", 1),
        ("KX105", "note", 1),
    ]


def test_a_future_timestamp_holds_its_segment_and_all_after_it() -> None:
    segments = [facts("/b/t-0", 0), facts("/b/t-0", 100, timestamp=NOW + 5), facts("/b/t-0", 200, log=7)]
    (row,) = fleet_of(segments, [], [], NOW)["stalled_retention"]
    assert (row["segment"], row["ahead_ms"], row["held_bytes"]) == (100, 5, 1007)


def test_warm_sections_are_the_active_segments_own() -> None:
    (row,) = fleet_of([facts("/b/t-0", 0), facts("/b/t-0", 100, active=True)], [], [], NOW)["warm_sections"]
    assert (row["segment"], row["warm_from_offset"], row["warm_records"]) == (100, 150, 49)
    assert row["coverage"] == round(49 / 99, 4)


def test_real_segments_have_the_warm_section_of_kafka() -> None:
    (segment,) = segment_facts(Partition(str(SET / "clean" / "pages13-0")))
    # 13 pages of 512 entries: the search starts 1024 entries before the last, on page 10 (KAFKA-6432).
    assert segment.offset_entries == 13 * 512 and segment.warm_from_offset == 13 * 512 - 1024
    assert segment.active and segment.last_indexed_offset == 13 * 512


def stranded(topic: str) -> list[dict[str, object]]:
    """What a group that retention has overtaken gives."""
    commits = Contents(0, 9, [Commit("g", topic, 0, 5, NOW)])
    log = Contents(10, 20, [])
    return stranded_groups([(Place("/b", "__consumer_offsets", 0), commits), (Place("/b", topic, 0), log)])


def test_the_page_holds_itself_together_and_escapes_names() -> None:
    segments = [facts("/b/<t>-0", 0, active=True, timestamp=NOW + 10)]
    replicas = [
        {
            "topic": "<t>",
            "partition": 0,
            "replicas": ["/b", "/c"],
            "agree": False,
            "diverges_at": 7,
            "differing": ["/c"],
            "behind": {"/c": 3},
        }
    ]
    found = [finding("/b/<t>-0/x.index")]
    fleet = fleet_of(segments, found, replicas, NOW, [judged("<t>", before=9, after=2)], stranded("<t>"))
    summary = {
        "findings": {"error": 1, "warning": 0, "note": 0},
        "files": 1,
        "entries": 10,
        "batches": 0,
        "unreadable": 0,
        "bytes_checked": 80,
        "skipped": [],
    }
    page = fleet_page(fleet.tables, found, summary, 1080)
    assert "<t>" not in page and "&lt;t&gt;" in page and page.count("<svg") >= 5
    assert "prefers-color-scheme:dark" in page and "<script" not in page and "http-equiv" not in page
    assert "differs from offset 7 on" in page
    assert "outside of the log" in page and "before_start" in page and "g: &lt;t&gt;-0" in page
    assert set(as_objects(fleet)) == set(TABLES)
    screen = StringIO()
    render_fleet(fleet.tables, screen)
    lines = screen.getvalue().splitlines()
    assert "replicas    0 of 1 shared partitions agree" in lines
    assert "            <t>-0 differs from offset 7 on: /c" in lines
    assert "            <t>-0 lags: /c by 3 records" in lines
    assert "groups      g has committed 5 in <t>-0, which begins at 10: 5 records were deleted unread" in lines
    assert "compaction  <t> would shrink by 7 bytes of 9 bytes" in lines
    assert "retention   <t>-0, segment 0: a timestamp in the future, which retains 1000 bytes" in lines


def test_compaction_is_summed_by_topic_and_names_the_neediest() -> None:
    rows = [
        judged("a", before=9, after=2),
        judged("b", before=100, after=10),
        judged("a", before=0, after=0, why_not="x"),
    ]
    tables = fleet_of([], [], [], NOW, rows)
    b, a = tables["compaction_topics"]
    assert (b["topic"], b["bytes_saved"]) == ("b", 90)
    assert (a["topic"], a["bytes_saved"], a["partitions"], a["not_judged"]) == ("a", 7, 2, 1)
    (cleaner,) = tables["cleaners"]
    assert cleaner["smallest_dedupe_buffer_bytes"] == 8 * 24 and cleaner["neediest"] == "a-0"  # 7 entries at 0.9
    assert [row["why_not"] for row in tables["compaction"]] == [None, None, "x"]


def test_every_field_is_documented() -> None:
    said = (Path(__file__).resolve().parents[2] / "docs" / "schemas-fleet.md").read_text()
    orders = [str(SET / "fleet" / f"broker-{n}" / "orders-0") for n in (1, 2)]
    replicas = compare_replicas({d: bucket_sums(Partition(d)) for d in orders}, lambda: None)  # type: ignore[arg-type]
    segments = [facts("/b/t-0", 0, active=True, timestamp=NOW + 10)]
    judgement = [judged("t", before=9, after=2)]
    fleet = fleet_of(segments, [finding("/b/t-0/x.index")], replicas, NOW, judgement, stranded("t"))
    for name, rows in fleet.tables.items():
        assert TABLES[name] in said and rows
        assert [field for field in rows[0] if f"`{field}`" not in said] == []
