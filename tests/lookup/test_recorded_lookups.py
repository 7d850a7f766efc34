"""Every look-up and every probe that Kafka's own classes were asked for, on files that brokers wrote."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from kidx.evidence import from_bytes
from kidx.formats.indexes import OFFSET_INDEX, decode
from kidx.logdir.names import base_offset_of, index_format_of
from kidx.lookup.aborted import collect_aborted, read_transactions
from kidx.lookup.index import IndexReader
from kidx.lookup.many_lookups import ManyLookups
from kidx.lookup.search import STANDARD, WARM, Recorder
from kidx.pages.geometry import pages_touched
from tests.support import KAFKA_SETS, answers

sets = pytest.mark.parametrize("kafka", KAFKA_SETS, ids=lambda path: path.name)


def reader_of(path: Path) -> IndexReader:
    return IndexReader(from_bytes(path.read_bytes(), str(path)), index_format_of(str(path)), base_offset_of(str(path)))


def by_file(kafka: Path, name: str) -> Iterator[tuple[IndexReader, list[dict[str, str]]]]:
    rows = sorted(answers(kafka, name), key=lambda row: row["file"])
    assert rows
    for file, asked in groupby(rows, key=lambda row: row["file"]):
        yield reader_of(kafka / file), list(asked)


@sets
def test_lookups(kafka: Path) -> None:
    for index, rows in by_file(kafka, "lookups.tsv"):
        for row in rows:
            assert index.lookup(int(row["target"])) == (int(row["found_key"]), int(row["found_value"])), row


@sets
def test_probes_of_the_warm_section_search(kafka: Path) -> None:
    for index, rows in by_file(kafka, "probes_warm.tsv"):
        for row in rows:
            recorder = Recorder(index.reader(row["by"]))
            bounds = index.bounds(int(row["target"]), row["by"], WARM, recorder)
            assert getattr(bounds, row["bound"]) == int(row["slot"]), row
            assert [slot for slot, _ in recorder.probes] == [int(s) for s in row["slots_probed"].split()], row


@sets
def test_probes_of_the_standard_search(kafka: Path) -> None:
    for index, rows in by_file(kafka, "probes_standard.tsv"):
        for row in rows:
            recorder = Recorder(index.reader())
            slot = index.bounds(int(row["target"]), "key", STANDARD, recorder).lower
            assert index.answer(slot) == (int(row["found_key"]), int(row["found_value"])), row
            assert [slot for slot, _ in recorder.probes] == [int(s) for s in row["slots_probed"].split()], row


@sets
def test_pages_of_many_lookups_at_once(kafka: Path) -> None:
    for name, kind in (("probes_warm.tsv", WARM), ("probes_standard.tsv", STANDARD)):
        for index, rows in by_file(kafka, name):
            asked = [row for row in rows if row.get("by", "key") == "key" and row.get("bound", "lower") == "lower"]
            index.hold()
            key = "offset" if index.index_format is OFFSET_INDEX else "timestamp"
            keys = decode(index.index_format, Path(index.path).read_bytes(), index.base_offset)[key]
            many = ManyLookups(keys, index.index_format.size, index.index_format.warm_entries)
            found = many.look_up(np.array([int(row["target"]) for row in asked], np.int64), kind)
            pages = many.paths(kind).pages
            for row, path in zip(asked, found.paths.tolist(), strict=True):
                slots = [int(s) for s in row["slots_probed"].split()]
                assert [p for p in pages[path].tolist() if p >= 0] == pages_touched(slots, index.index_format.size), row


@sets
def test_aborted_transactions(kafka: Path) -> None:
    rows = answers(kafka, "txns.tsv")
    assert rows
    for row in rows:
        evidence = from_bytes((kafka / row["file"]).read_bytes())
        answer = collect_aborted(read_transactions(evidence), int(row["fetch_from"]), int(row["fetch_to"]))
        assert answer.complete == (row["complete"] == "true"), row
        said = ",".join(f"{t.producer_id}:{t.first_offset}" for t in answer.aborted)
        assert said == (row["aborted"] or ""), row
