"""Small files beside the segments: producer snapshots, leader epochs, checkpoints and properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kidx.checks.making import finding
from kidx.checks.stretch import Named
from kidx.errors import WrongFormat
from kidx.findings import Finding
from kidx.formats.checkpoints import (
    parse_leader_epochs,
    parse_offset_checkpoint,
    parse_partition_metadata,
    parse_properties,
    parse_quorum_state,
)
from kidx.formats.producer_snapshot import HEADER_BYTES, PRODUCER_ENTRY, VERSION, ProducerSnapshot

TEXT_KINDS = ("leader_epochs", "offset_checkpoint", "partition_metadata", "quorum_state", "meta_properties")


def check_text_file(path: str, kind: str, data: bytes) -> Iterator[Finding]:
    """Findings about a text file by its kind (kidx.logdir.names)."""
    if kind in ("leader_epochs", "offset_checkpoint"):
        _, problems = (parse_leader_epochs if kind == "leader_epochs" else parse_offset_checkpoint)(data)
        for problem in problems:
            where = f"line {problem.line}: " if problem.line else ""
            yield finding("KX505", path, where + problem.why, found=problem.line)
        return
    try:
        if kind == "partition_metadata":
            fields: Mapping[str, object] = parse_partition_metadata(data)
            wanted: tuple[str, ...] = ("version", "topic_id")
        elif kind == "quorum_state":
            fields, wanted = parse_quorum_state(data), ()
        elif kind == "meta_properties":
            fields, wanted = parse_properties(data), ("version",)
        else:
            return
    except WrongFormat as e:
        yield finding("KX505", path, str(e))
        return
    for name in wanted:
        if name not in fields:
            yield finding("KX505", path, f"it has no {name}", expected=name)


def check_snapshot(path: str, snapshot: ProducerSnapshot, size: int) -> Iterator[Finding]:
    """Findings about a producer snapshot by itself."""
    if snapshot.version != VERSION:
        yield finding("KX406", path, f"its version is {snapshot.version}", expected=VERSION, found=snapshot.version)
    elif not snapshot.crc_ok:
        yield finding("KX406", path, "its bytes do not have its CRC", span=(2, size), found=f"{snapshot.crc:08x}")
    elif snapshot.extra_bytes or snapshot.entry_count != len(snapshot.producers):
        yield finding(
            "KX406",
            path,
            f"it announces {snapshot.entry_count} producers and holds {len(snapshot.producers)} and "
            f"{snapshot.extra_bytes} bytes more",
            expected=snapshot.entry_count,
            found=len(snapshot.producers),
        )


def compare_snapshot(
    path: str,
    snapshot_offset: int,
    snapshot: ProducerSnapshot,
    named: Mapping[int, Named],
    open_there: Mapping[int, int] | None,
    log_end: int | None,
) -> Iterator[Finding]:
    """Findings where a sound snapshot and the log differ.

    `named` are the log's batches by the last offsets that snapshots name; one that is not there was deleted or
    compacted away, which proves nothing. `open_there` are the transactions open at the snapshot's offset by the log,
    None where it does not tell. `log_end` is the offset after the log's last one, None where that is not known.
    """
    if log_end is not None and snapshot_offset > log_end:
        yield finding(
            "KX407",
            path,
            f"it is of offset {snapshot_offset}; the log ends with offset {log_end - 1}",
            expected=f"<= {log_end}",
            found=snapshot_offset,
        )
        return
    for number, producer in enumerate(snapshot.producers):
        at = HEADER_BYTES + number * PRODUCER_ENTRY.size
        span = (at, at + PRODUCER_ENTRY.size)
        there = named.get(producer.last_offset)
        wrong = None
        if producer.last_offset >= snapshot_offset:
            wrong = f"last wrote offset {producer.last_offset}, which the snapshot at {snapshot_offset} cannot know of"
        elif there is not None and there.producer_id != producer.producer_id:
            wrong = f"wrote offset {producer.last_offset}; in the log producer {there.producer_id} did"
        elif there is not None and not there.exact:
            wrong = f"wrote a batch that ends with offset {producer.last_offset}; the log has none that ends there"
        elif (
            there is not None
            and not there.control
            and there.producer_epoch == producer.producer_epoch
            and producer.last_sequence not in (there.last_sequence, -1)
        ):
            wrong = f"has last sequence {producer.last_sequence}; its batch in the log ends with {there.last_sequence}"
        if wrong is None and open_there is not None:
            first = open_there.get(producer.producer_id, -1)
            if first != producer.current_txn_first_offset:
                wrong = (
                    f"has a transaction open from offset {producer.current_txn_first_offset}; by the log it is {first}"
                )
        if wrong:
            yield finding(
                "KX407",
                path,
                f"it says that producer {producer.producer_id} {wrong}",
                span=span,
                slot=number,
                expected=there._asdict() if there else None,
                found=producer._asdict(),
            )
