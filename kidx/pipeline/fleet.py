"""The tables about a fleet, computed from the results of the tasks. Each table has a schema (docs/schemas-fleet.md).

Brokers are named by the paths of their log dirs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kidx.checks.catalogue import RULES
from kidx.findings import ERROR, NOTE, WARNING, Finding
from kidx.pages.geometry import PAGE_BYTES
from kidx.pipeline.fleet_compaction import compaction_tables
from kidx.pipeline.inventory import Place, place_of
from kidx.pipeline.segment_facts import SegmentFacts

FleetRow = dict[str, Any]
TABLES = {
    "brokers": "kidx.fleet_broker.v1",
    "topics": "kidx.fleet_topic.v1",
    "partitions": "kidx.fleet_partition.v1",
    "rules": "kidx.fleet_rule.v1",
    "warm_sections": "kidx.fleet_warm_section.v1",
    "stalled_retention": "kidx.fleet_stalled_retention.v1",
    "replicas": "kidx.fleet_replicas.v1",
    "stranded_groups": "kidx.fleet_stranded_group.v1",
    "compaction": "kidx.fleet_compaction.v1",
    "compaction_topics": "kidx.fleet_compaction_topic.v1",
    "cleaners": "kidx.fleet_cleaner.v1",
}


@dataclass(slots=True)
class Fleet:
    """The tables by name (see TABLES), each a list of rows with the same keys."""

    tables: dict[str, list[FleetRow]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> list[FleetRow]:
        return self.tables[name]


def fleet_of(
    segments: Sequence[SegmentFacts],
    findings: Iterable[Finding],
    replicas: list[FleetRow],
    now_ms: int,
    compaction: Iterable[FleetRow] = (),
    stranded_groups: Iterable[FleetRow] = (),
) -> Fleet:
    """All tables. `replicas` are the rows of compare_replicas, `compaction` those of judge_compaction and
    `stranded_groups` those of the function of that name."""
    found = list(findings)
    places = {s.directory: place_of(s.directory) for s in segments}
    places |= {d: place_of(d) for d in {f.file.rpartition("/")[0] or "." for f in found} - places.keys()}
    named = [(places[s.directory], s) for s in segments]
    located = [(places[f.file.rpartition("/")[0] or "."], f) for f in found]
    return Fleet(
        {
            "brokers": _grouped(named, located, lambda p: {"broker": p.broker}),
            "topics": _grouped(named, located, lambda p: {"topic": p.topic}),
            "partitions": _grouped(named, located, _partition_key),
            "rules": _rules(found),
            "warm_sections": _warm_sections(named),
            "stalled_retention": _stalled_retention(named, now_ms),
            "replicas": replicas,
            "stranded_groups": list(stranded_groups),
            **compaction_tables(compaction),
        }
    )


def _partition_key(place: Place) -> FleetRow:
    return {"broker": place.broker, "topic": place.topic, "partition": place.partition}


def _grouped(
    segments: Iterable[tuple[Place, SegmentFacts]],
    findings: Iterable[tuple[Place, Finding]],
    key: Callable[[Place], FleetRow],
) -> list[FleetRow]:
    """Sizes, index health and page-cache need of each group of partitions.

    `page_cache_bytes` is the size of the warm sections of all active segments' indexes: the pages that look-ups near
    the log's end touch, and that a broker should have in memory. `log_bytes_per_entry` is the indexes' density.
    """
    facts: dict[tuple[Any, ...], list[SegmentFacts]] = defaultdict(list)
    severities: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for place, segment in segments:
        facts[tuple(key(place).values())].append(segment)
    for place, finding in findings:
        severities[tuple(key(place).values())][finding.severity] += 1
    names = tuple(key(Place("", None, None)))
    rows = []
    for group in sorted(facts.keys() | severities.keys(), key=lambda g: tuple((v is None, v) for v in g)):
        held, counts = facts[group], severities[group]
        entries = sum(s.offset_entries for s in held)
        log_bytes = sum(s.log_bytes for s in held)
        rows.append(
            dict(zip(names, group, strict=True))
            | {
                "partitions": len({s.directory for s in held}),
                "segments": len(held),
                "log_bytes": log_bytes,
                "index_bytes": sum(s.index_bytes for s in held),
                "zero_tail_bytes": sum(s.zero_tail_bytes for s in held),
                "index_entries": entries,
                "log_bytes_per_entry": round(log_bytes / entries) if entries else None,
                "segments_without_entries": sum(1 for s in held if not s.offset_entries and s.log_bytes > 4096),
                "page_cache_bytes": sum(s.warm_pages for s in held if s.active) * PAGE_BYTES,
                "errors": counts[ERROR],
                "warnings": counts[WARNING],
                "notes": counts[NOTE],
            }
        )
    return rows


def _rules(findings: Iterable[Finding]) -> list[FleetRow]:
    counts: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        counts[finding.rule, finding.severity].append(finding)
    return [
        {
            "rule": code,
            "name": RULES[code].name,
            "severity": severity,
            "findings": len(found),
            "files": len({f.file for f in found}),
            "partitions": len({f.file.rpartition("/")[0] for f in found}),
        }
        for (code, severity), found in sorted(counts.items())
    ]


def _warm_sections(segments: Iterable[tuple[Place, SegmentFacts]]) -> list[FleetRow]:
    """For each active segment, the offset from which on look-ups stay in the warm section, and its share.

    For a consumer whose next offset is below `warm_from_offset`, or that is more than `warm_records` behind, the broker
    reads cold pages of this index or of an older segment's.
    """
    rows = []
    for place, s in sorted(segments, key=lambda pair: (pair[1].directory, pair[1].base_offset)):
        if not s.active or s.last_indexed_offset is None or s.warm_from_offset is None:
            continue
        indexed = s.last_indexed_offset - s.base_offset
        warm = s.last_indexed_offset - s.warm_from_offset
        rows.append(
            _partition_key(place)
            | {
                "segment": s.base_offset,
                "warm_from_offset": s.warm_from_offset,
                "last_indexed_offset": s.last_indexed_offset,
                "warm_records": warm,
                "coverage": round(warm / indexed, 4) if indexed > 0 else 1.0,
                "warm_pages": s.warm_pages,
            }
        )
    return rows


def _stalled_retention(segments: Iterable[tuple[Place, SegmentFacts]], now_ms: int) -> list[FleetRow]:
    """Segments whose largest timestamp lies in the future. Retention by time counts from it, so neither they nor any
    later segment is deleted before. `held_bytes` are the log bytes of the segment and all later ones."""
    by_directory: dict[str, list[tuple[Place, SegmentFacts]]] = defaultdict(list)
    for place, s in segments:
        if not s.state:
            by_directory[s.directory].append((place, s))
    rows = []
    for directory in sorted(by_directory):
        ordered = sorted(by_directory[directory], key=lambda pair: pair[1].base_offset)
        for number, (place, s) in enumerate(ordered):
            if s.largest_timestamp is None or s.largest_timestamp <= now_ms:
                continue
            rows.append(
                _partition_key(place)
                | {
                    "segment": s.base_offset,
                    "largest_timestamp": s.largest_timestamp,
                    "ahead_ms": s.largest_timestamp - now_ms,
                    "held_bytes": sum(later.log_bytes for _, later in ordered[number:]),
                }
            )
    return rows


def as_objects(fleet: Fleet) -> Mapping[str, list[FleetRow]]:
    """The tables with the schema in every row, for JSON."""
    return {name: [{"schema": TABLES[name]} | row for row in rows] for name, rows in fleet.tables.items()}
