"""The fleet's summary, from rows made by hand and from real directories, and how it is shown."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.result import CheckResult
from kidx.findings import Finding
from kidx.logdir.tree import Partition
from kidx.pipeline import summary as summaries
from kidx.pipeline.fleet import TABLES
from kidx.pipeline.places import place_of
from kidx.pipeline.replicas import ReplicaIdentity
from kidx.pipeline.results import RESULT, finding_row, result_row, retained_in
from kidx.pipeline.segment_facts import SegmentFacts, segment_facts
from kidx.pipeline.summary import Summary
from kidx.report.metrics import prometheus_text
from kidx.report.screens.fleet import render_fleet
from kidx.report.screens.fleet_metrics import fleet_metrics
from kidx.report.screens.fleet_page import fleet_page
from tests.pipeline.support import NOW, SET

A_DAY = 86_400_000


def facts(directory: str, base: int, *, active: bool = False, timestamp: int = 0, log: int = 1000) -> SegmentFacts:
    return SegmentFacts(directory, base, "", active, log, 80, 10, 5, 0, base + 99, base + 50, 4, timestamp)


def finding(file: str, severity: str = "error", rule: str = "KX105") -> Finding:
    return Finding(rule, severity, file, 0, 8, 0, None, None, "m", "b")


def unit(directory: str, segments: list[SegmentFacts], *findings: Finding) -> dict[str, Any]:
    """A directory's row of RESULT, in cluster c."""
    named = place_of(directory)._asdict() | dict.fromkeys(("key", "directory", "path"), directory)
    row = dict.fromkeys(RESULT.names) | named
    return result_row(row, CheckResult([*findings]), segments, identity=ReplicaIdentity("c"), now_ms=NOW)


def summary_of(*units: dict[str, Any]) -> Summary:
    whole = Summary()
    for row in units:
        whole.take_unit(row)
    return whole


def test_groups_add_up_and_name_brokers_by_their_log_dirs() -> None:
    first = unit("/b1/t-0", [facts("/b1/t-0", 0), facts("/b1/t-0", 100, active=True)], finding("/b1/t-0/x.index"))
    second = unit("/b2/t-1", [facts("/b2/t-1", 0, active=True)], finding("/b2/t-1/x.index", "note"))
    tables = summary_of(first, second).tables()
    one, two = tables["brokers"]
    assert (one["cluster"], one["broker"], one["segments"], one["log_bytes"], one["errors"]) == ("c", "/b1", 2, 2000, 1)
    assert (two["broker"], two["page_cache_bytes"], two["notes"]) == ("/b2", 4 * 4096, 1)
    (topic,) = tables["topics"]
    assert (topic["topic"], topic["partitions"], topic["log_bytes_per_entry"]) == ("t", 2, 100)
    assert [row["partition"] for row in tables["partitions"]] == [0, 1]
    assert [(r["rule"], r["severity"], r["findings"]) for r in tables["rules"]] == [
        ("KX105", "error", 1),
        ("KX105", "note", 1),
    ]


def test_summaries_of_parts_add_up_to_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "MOST_ROWS", 3)
    units = [
        unit(f"/b{n % 3}/t-{n}", [facts(f"/b{n % 3}/t-{n}", 0, active=True, log=n, timestamp=NOW + 1)])
        for n in range(40)
    ]
    units[7] = unit("/b/t-7", [facts("/b/t-7", 0)], finding("/b/t-7/x.index"), finding("/b/t-7/x.index", "note"))
    whole, merged = summary_of(*units), Summary()
    for part in (units[:11], units[11:30], units[30:]):
        for row in summary_of(*part).parts():
            merged.merge(row)
    assert merged.tables() == whole.tables() and merged.counts() == whole.counts()
    assert len(whole.tables()["partitions"]) == 3 and whole.counts()["partitions"] == 40
    assert whole.tables()["partitions"][0]["partition"] == 7, "the worst comes first"


def test_a_future_timestamp_holds_its_segment_and_all_after_it() -> None:
    segments = [facts("/b/t-0", 0), facts("/b/t-0", 100, timestamp=NOW + A_DAY + 5), facts("/b/t-0", 200, log=7)]
    row = unit("/b/t-0", segments)
    (stalled,) = summary_of(row).tables()["stalled_retention"]
    assert (stalled["segment"], stalled["segments"], stalled["held_bytes"]) == (100, 2, 1007)
    (retained,) = retained_in(row, NOW)
    (found,) = findings_about(retained)
    assert (found.rule, found.severity, found.file) == ("KX606", "note", f"/b/t-0/{100:020d}.log")  # type: ignore[union-attr]
    (retained,) = retained_in(row, NOW + 5)
    assert list(findings_about(retained)) == [], "a clock may be a day ahead"


def test_warm_sections_are_the_active_segments_own() -> None:
    row = unit("/b/t-0", [facts("/b/t-0", 0), facts("/b/t-0", 100, active=True)])
    (warm,) = summary_of(row).tables()["warm_sections"]
    assert (warm["segment"], warm["warm_from_offset"], warm["warm_records"]) == (100, 150, 49)
    assert warm["coverage"] == round(49 / 99, 4)


def test_real_segments_have_the_warm_section_of_kafka() -> None:
    (segment,) = segment_facts(Partition(str(SET / "clean" / "pages13-0")))
    # 13 pages of 512 entries: the search starts 1024 entries before the last, on page 10 (KAFKA-6432).
    assert segment.offset_entries == 13 * 512 and segment.warm_from_offset == 13 * 512 - 1024
    assert segment.active and segment.last_indexed_offset == 13 * 512


def replica(broker: str, behind: int = 0, *, differs: bool = False) -> dict[str, Any]:
    return {"broker": broker, "log_end": 9, "behind": behind, "empty": False, "differs": differs, "held": None}


def everything() -> Summary:
    """A summary with a row in every table."""
    place = {"cluster": "c", "broker": "/b", "topic": "<t>", "partition": 0}
    row = unit("/b/<t>-0", [facts("/b/<t>-0", 0, active=True, timestamp=NOW + 10)], finding("/b/<t>-0/x.index"))
    whole = summary_of(row)
    own = place | {"topic_id": "i", "agree": False, "diverges_at": 7, "cleaned_below": 0}
    del own["broker"]
    whole.take("replicas", own | {"replicas": [replica("/b"), replica("/c", 3, differs=True)]})
    said = {"group": "g", "committed": 5, "committed_at": NOW, "log_start": 10, "log_end": 20, "why": "before_start"}
    whole.take("stranded_groups", place | said | {"records": 5, "committed_on": "/b", "directory": "/b/<t>-0"})
    sums = dict.fromkeys(("partitions", "records", "kept", "distinct_keys", "bytes_after"), 1)
    sums |= {"not_judged": 0, "keyless": 0, "bytes_before": 9, "bytes_saved": 7, "checkpointed": True}
    need = {"smallest_dedupe_buffer_bytes": 24, "expected_collision_rate": 0.1}
    whole.take("compaction", place | sums | need | {"why_not": None, "one_pass_is_enough": True, "dropped": {}})
    whole.take("compaction_topics", {"cluster": "c", "topic": "<t>"} | sums)
    whole.take("cleaners", {"cluster": "c", "broker": "/b", "neediest": "<t>-0"} | sums | need)
    return whole


def test_the_page_holds_itself_together_and_escapes_names() -> None:
    whole, found = everything(), [finding("/b/<t>-0/x.index")]
    summary = {
        "findings": {"error": 1, "warning": 0, "note": 0},
        "files": 1,
        "entries": 10,
        "batches": 0,
        "unreadable": 0,
        "bytes_checked": 80,
        "skipped": [],
    }
    page = fleet_page(whole.tables(), whole.counts(), found, summary, 1080)
    assert "<t>" not in page and "&lt;t&gt;" in page and page.count("<svg") >= 5
    assert "prefers-color-scheme:dark" in page and "<script" not in page and "http-equiv" not in page
    assert "differs from offset 7 on" in page and "1 of 1 partitions differ" in page
    assert "outside of the log" in page and "before_start" in page and "g: &lt;t&gt;-0" in page
    assert set(whole.tables()) == set(TABLES)
    screen = StringIO()
    render_fleet(whole.tables(), whole.counts(), screen)
    lines = screen.getvalue().splitlines()
    assert "replicas    0 of 1 shared partitions agree" in lines
    assert "            <t>-0 differs from offset 7 on: /c" in lines
    assert "            <t>-0 lags: /c by 3 records" in lines
    assert "groups      g has committed 5 in <t>-0, which begins at 10: 5 records were deleted unread" in lines
    assert "compaction  <t> would shrink by 7 bytes of 9 bytes" in lines
    assert "retention   <t>-0, segment 0: a timestamp in the future, which retains 1000 bytes" in lines


def test_unrelated_clusters_are_named() -> None:
    other = unit("/x/t-0", [facts("/x/t-0", 0)]) | {"cluster_id": "other"}
    whole, screen = summary_of(unit("/b/t-0", [facts("/b/t-0", 0)]), other), StringIO()
    render_fleet(whole.tables(), whole.counts(), screen)
    assert "clusters    2, not compared with each other: c, other" in screen.getvalue().splitlines()
    assert len(whole.tables()["topics"]) == 2


def test_metrics_are_what_prometheus_parses() -> None:
    parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus_client: pip install 'kidx[dev]'")
    whole = everything()
    summary = {
        "findings": {"error": 1, "warning": 0, "note": 0},
        "unreadable": 0,
        "bytes_checked": 80,
        "exit_status": 1,
    }
    scan = {"units": 1, "units_read": 1}
    text = prometheus_text(fleet_metrics({"summary": summary, "scan": scan, "rows": whole.counts()} | whole.tables()))
    samples = {
        (s.name, *s.labels.values()): s.value for f in parser.text_string_to_metric_families(text) for s in f.samples
    }
    assert samples["kidx_scan_findings", "error"] == 1 and samples["kidx_scan_rule_findings", "KX105", "error"] == 1
    assert samples["kidx_scan_broker_log_bytes", "c", "/b"] == 1000
    assert samples[("kidx_scan_replica_sets_differing",)] == samples[("kidx_scan_exit_status",)] == 1


def test_every_field_is_documented() -> None:
    said = (Path(__file__).resolve().parents[2] / "docs" / "schemas-fleet.md").read_text()
    for schema, fields in TABLES.values():
        assert schema in said
        assert [name for name in fields.names if f"`{name}`" not in said] == []


def test_a_finding_of_the_fleet_counts_for_its_broker_and_topic() -> None:
    whole = summary_of(unit("/b/t-0", [facts("/b/t-0", 0)]))
    place = {"cluster": "c", "broker": "/b", "topic": "t", "partition": 0, "directory": "/b/t-0"}
    whole.take_fleet_finding(place | finding_row(finding("/b/t-0", rule="KX603")))
    tables = whole.tables()
    assert (tables["brokers"][0]["errors"], tables["topics"][0]["errors"]) == (1, 1)
    assert json.dumps(tables["rules"]).count("KX603") == 1
