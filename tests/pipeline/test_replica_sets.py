"""Which directories are replicas of one partition, and what the rules say about them. Real logs, no Spark."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kidx.findings import Finding
from kidx.formats.checksums import crc32c
from kidx.pipeline.replica_sets import judge_replicas, replica_sets
from kidx.pipeline.results import replica_of
from tests.pipeline.support import SET, batch_starts, checked_unit, units_of, writable
from tests.support import kidx


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return writable(SET / "fleet", tmp_path / "fleet")


def replicas_of(root: Path, partition: str) -> list[Any]:
    units = [unit | {"compared": True} for unit in units_of(*sorted(root.glob(f"*/{partition}")))]
    return [replica_of(checked_unit(unit)) for unit in units]


def judged(root: Path, partition: str = "orders-0", *, live: bool = False) -> tuple[dict[str, Any], list[Finding]]:
    (replicas,) = replica_sets(replicas_of(root, partition))
    return judge_replicas(replicas, live=live)


def rewrite(log: Path, at: int, position: int, value: bytes, *, crc: bool = True) -> tuple[int, int]:
    """Change bytes of the batch at a place in the log and make its CRC right; its first byte and base offset."""
    data = bytearray(log.read_bytes())
    start = batch_starts(data)[at]
    data[start + position : start + position + len(value)] = value
    if crc:
        end = start + 12 + int.from_bytes(data[start + 8 : start + 12], "big")
        data[start + 17 : start + 21] = crc32c(bytes(data[start + 21 : end])).to_bytes(4, "big")
    log.write_bytes(data)
    return start, int.from_bytes(data[start : start + 8], "big")


def test_healthy_replicas_have_no_findings(fleet: Path) -> None:
    for partition in ("orders-0", "orders-1", "payments-0", "payments-1"):
        row, findings = judged(fleet, partition)
        assert row["agree"] and findings == [] and len(row["replicas"]) == 3


def test_a_batch_with_other_content_and_a_matching_crc_is_an_error(fleet: Path) -> None:
    log = sorted((fleet / "broker-2" / "orders-0").glob("*.log"))[-1]
    start, offset = rewrite(log, 1, 43, (7).to_bytes(8, "big"))  # the producer id
    row, (found,) = judged(fleet)
    assert (found.rule, found.severity, found.file, found.byte_start) == ("KX601", "error", str(log), start)
    assert found.expected["crc"] != found.found["crc"] and f"at offset {offset}" in found.message
    assert "2 of 3 replicas" in found.message and not row["agree"] and row["diverges_at"] == offset
    assert [replica["differs"] for replica in row["replicas"]] == [False, True, False]


def test_another_leader_epoch_is_a_warning_though_no_crc_covers_it(fleet: Path) -> None:
    log = sorted((fleet / "broker-2" / "orders-0").glob("*.log"))[-1]
    start, _ = rewrite(log, -1, 12, (9).to_bytes(4, "big"), crc=False)
    _, (found,) = judged(fleet)
    assert (found.rule, found.severity, found.byte_start) == ("KX602", "warning", start)
    assert found.found["leader_epoch"] == 9 != found.expected["leader_epoch"]


def test_without_a_majority_every_replica_is_named(fleet: Path) -> None:
    shutil.rmtree(fleet / "broker-3")
    rewrite(sorted((fleet / "broker-2" / "orders-0").glob("*.log"))[0], 0, 43, (7).to_bytes(8, "big"))
    _, findings = judged(fleet)
    assert [f.rule for f in findings] == ["KX601", "KX601"]
    assert {f.file.split("/")[-3] for f in findings} == {"broker-1", "broker-2"}


def empty(directory: Path) -> None:
    for file in directory.iterdir():
        if file.suffix == ".log":
            file.write_bytes(b"")
        elif file.suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
            file.unlink()


@pytest.mark.parametrize("how", ["emptied", "deleted"])
def test_a_replica_without_records_is_an_error_if_its_checkpoint_knows_of_some(fleet: Path, how: str) -> None:
    directory = fleet / "broker-3" / "payments-1"
    empty(directory)
    if how == "deleted":
        for file in directory.glob("*.log"):
            file.unlink()
    row, (found,) = judged(fleet, "payments-1")
    assert (found.rule, found.severity, found.file) == ("KX603", "error", str(directory))
    assert "high watermark in its own checkpoint is" in found.message
    assert not row["agree"] and [r["empty"] for r in row["replicas"]] == [False, False, True]
    (fleet / "broker-3" / "replication-offset-checkpoint").unlink()
    assert [f.severity for f in judged(fleet, "payments-1")[1]] == ["warning"]
    assert [f.severity for f in judged(fleet, "payments-1", live=True)[1]] == ["note"]


def test_a_replica_that_lags_or_whose_retention_went_further_is_healthy(fleet: Path) -> None:
    first, *_, last = sorted((fleet / "broker-2" / "orders-0").glob("*.log"))
    data = last.read_bytes()
    last.write_bytes(data[: batch_starts(data)[-1]])
    for file in first.parent.glob(f"{first.stem}.*"):
        file.unlink()
    row, findings = judged(fleet)
    assert row["agree"] and findings == []
    assert [bool(replica["behind"]) for replica in row["replicas"]] == [False, True, False]


def test_retention_may_have_emptied_a_replica_that_lags(fleet: Path) -> None:
    directory = fleet / "broker-2" / "orders-0"
    *older, last = sorted(directory.glob("*.log"))
    assert older
    for file in directory.iterdir():
        if file.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
            file.unlink()
    last.write_bytes(b"")
    (fleet / "broker-2" / "replication-offset-checkpoint").write_text(f"0\n1\norders 0 {int(last.stem)}\n")
    assert judged(fleet)[1] == []


def test_what_a_cleaner_has_rewritten_is_not_compared(fleet: Path) -> None:
    logs = sorted((fleet / "broker-2" / "orders-0").glob("*.log"))
    rewrite(logs[0], 0, 43, (7).to_bytes(8, "big"))
    (fleet / "broker-1" / "cleaner-offset-checkpoint").write_text(f"0\n1\norders 0 {int(logs[1].stem)}\n")
    assert judged(fleet)[1] == []
    (fleet / "broker-1" / ".kafka_cleanshutdown").unlink()  # killed: it may have cleaned all but the active segment
    rewrite(logs[-2], 0, 43, (7).to_bytes(8, "big"))
    assert judged(fleet)[1] == []


def cluster_id(log_dir: Path, other: str) -> None:
    path = log_dir / "meta.properties"
    lines = (f"cluster.id={other}\n" if line.startswith("cluster.id") else line for line in path.open())
    path.write_text("".join([*lines]))


def test_unrelated_clusters_are_kept_apart(fleet: Path) -> None:
    rewrite(sorted((fleet / "broker-2" / "orders-0").glob("*.log"))[0], 0, 43, (7).to_bytes(8, "big"))
    cluster_id(fleet / "broker-2", "C" * 22)
    row, findings = judged(fleet)
    assert findings == [] and len(row["replicas"]) == 2


def test_another_topic_id_is_another_topic(fleet: Path) -> None:
    rewrite(sorted((fleet / "broker-2" / "orders-0").glob("*.log"))[0], 0, 43, (7).to_bytes(8, "big"))
    (fleet / "broker-2" / "orders-0" / "partition.metadata").write_text("version: 0\ntopic_id: NewNewNewNewNewNewNewNw")
    assert len(judged(fleet)[0]["replicas"]) == 2


def test_a_replica_without_ids_belongs_to_the_only_partition_of_its_name(fleet: Path) -> None:
    log = sorted((fleet / "broker-2" / "orders-0").glob("*.log"))[0]
    rewrite(log, 0, 43, (7).to_bytes(8, "big"))
    (fleet / "broker-2" / "meta.properties").unlink()
    (fleet / "broker-2" / "orders-0" / "partition.metadata").unlink()
    assert [(f.rule, f.severity, f.file) for f in judged(fleet)[1]] == [("KX601", "error", str(log))]
    for path in fleet.rglob("meta.properties"):
        path.unlink()
    for path in fleet.rglob("partition.metadata"):
        path.unlink()
    assert [(f.rule, f.severity) for f in judged(fleet)[1]] == [("KX601", "note")]


def test_verify_says_that_it_examines_none_of_these_rules(fleet: Path) -> None:
    """A selection of them alone would otherwise be "clean" without anything having been compared."""
    ran = kidx("verify", fleet, "--select", "KX6", "--format", "jsonl")
    assert any("`kidx scan` does" in skipped["why"] for skipped in ran.rows[-1]["skipped"])
