"""Comparing the replicas of each partition: by bucket sums on the driver, batch by batch in tasks where sums differ."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kidx.errors import KidxError
from kidx.evidence import absolute, read_file
from kidx.pipeline.fleet import FleetRow
from kidx.pipeline.inventory import place_of
from kidx.pipeline.replicas import BucketSum, Divergence, Suspicion, find_divergence, suspicion
from kidx.pipeline.results import from_arrow_text, to_arrow_text
from kidx.pipeline.waves import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ASKED = pa.schema([("number", pa.int32()), ("question", pa.string())])
_ANSWERED = pa.schema([("number", pa.int32()), ("answer", pa.string())])


def compare_replicas(sums: Mapping[str, Sequence[BucketSum]], session: Callable[[], SparkSession]) -> list[FleetRow]:
    """A row for each partition that several brokers have. `sums` is by directory. Spark runs only where sums differ."""
    replicas: dict[tuple[str, int], list[str]] = defaultdict(list)
    for directory in sums:
        place = place_of(directory)
        if place.topic is not None and place.partition is not None:
            replicas[place.topic, place.partition].append(directory)
    shared = {named: sorted(found) for named, found in sorted(replicas.items()) if len(found) > 1}
    cleaned = {named: _cleaned_below(named, found) for named, found in shared.items()}
    suspects = {n: suspicion({d: sums[d] for d in found}, cleaned[n]) for n, found in shared.items()}
    differing = [named for named in shared if suspects[named].buckets]
    requests = [([d for d in shared[n] if sums[d]], suspects[n]) for n in differing]
    found = _find_all(session(), requests) if requests else []
    diverged = dict(zip(differing, found, strict=True))
    return [
        _row(named, {d: sums[d] for d in directories}, diverged.get(named), cleaned[named])
        for named, directories in shared.items()
    ]


def _row(
    named: tuple[str, int], sums: Mapping[str, Sequence[BucketSum]], found: Divergence | None, cleaned_below: int
) -> FleetRow:
    ends = {place_of(d).broker: s[-1].last + 1 for d, s in sums.items() if s}
    ahead = max(ends.values(), default=0)
    return {
        "topic": named[0],
        "partition": named[1],
        "replicas": sorted(place_of(d).broker for d in sums),
        "agree": found is None,
        "diverges_at": found.offset if found else None,
        "differing": [place_of(d).broker for d in found.differing()] if found else [],
        "held": {place_of(d).broker: _size_and_crc(batch) for d, batch in found.held.items()} if found else None,
        "log_ends": ends,
        "behind": {broker: ahead - end for broker, end in ends.items() if end < ahead},
        "cleaned_below": cleaned_below,
    }


def _size_and_crc(batch: tuple[int, int] | None) -> dict[str, int] | None:
    return None if batch is None else {"size": batch[0], "crc": batch[1]}


def _cleaned_below(named: tuple[str, int], directories: Iterable[str]) -> int:
    """The largest offset up to which the cleaner has cleaned any replica, by the checkpoints; 0 where there is none."""
    furthest = 0
    for directory in directories:
        try:
            text = read_file(os.path.join(place_of(directory).broker, "cleaner-offset-checkpoint")).decode()
        except (KidxError, UnicodeDecodeError):
            continue
        for line in text.splitlines()[2:]:
            match line.split():
                case [topic, partition, offset] if (topic, partition) == (named[0], str(named[1])) and offset.isdigit():
                    furthest = max(furthest, int(offset))
    return furthest


def _find_all(spark: SparkSession, requests: Sequence[tuple[list[str], Suspicion]]) -> list[Divergence | None]:
    """find_divergence for each request, in a task for each partition."""
    rows = [
        {"number": n, "question": json.dumps([[to_arrow_text(absolute(d)) for d in directories], suspects])}
        for n, (directories, suspects) in enumerate(requests)
    ]
    sent = spark.createDataFrame(pa.Table.from_pylist(rows, schema=_ASKED)).repartitionById(len(rows), "number")
    answers = sent.mapInArrow(answer, spark_schema(_ANSWERED)).toArrow().to_pylist()
    found: dict[int, Any] = {row["number"]: json.loads(row["answer"]) for row in answers}
    return [_divergence(found[n]) for n in range(len(requests))]


def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for mapInArrow: questions in, answers out, both as JSON."""
    for batch in batches:
        rows = []
        for row in batch.to_pylist():
            directories, suspects = json.loads(row["question"])
            found = find_divergence([from_arrow_text(d) for d in directories], Suspicion(*suspects))
            result = found and [found.offset, [[to_arrow_text(d), held] for d, held in found.held.items()]]
            rows.append({"number": row["number"], "answer": json.dumps(result)})
        yield pa.RecordBatch.from_pylist(rows, schema=_ANSWERED)


def _divergence(result: Any) -> Divergence | None:
    if result is None:
        return None
    return Divergence(result[0], {from_arrow_text(d): tuple(held) if held else None for d, held in result[1]})
