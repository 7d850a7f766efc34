"""Evidence in S3, read as local files are; the store is a stub that speaks S3's protocol."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kidx.checks.engine.options import Options
from kidx.checks.engine.partition import check_target
from kidx.checks.engine.targets import targets_of
from kidx.errors import CannotRead, UsageError
from kidx.evidence import exists, file_size, is_directory, list_directory, open_evidence
from kidx.logdir.tree import expand
from tests.damage import flip_byte
from tests.pipeline.s3_stub import serve
from tests.pipeline.support import SET, units_of, writable
from tests.support import kidx

KEYS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_EC2_METADATA_DISABLED": "true"}


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    from kidx.evidence.remote import _file_system

    writable(SET / "fleet", tmp_path / "stores" / "fleet")
    with serve(tmp_path / "stores") as endpoint:
        for name, value in (KEYS | {"AWS_ENDPOINT_URL": endpoint}).items():
            monkeypatch.setenv(name, value)
        _file_system.cache_clear()
        yield tmp_path / "stores" / "fleet"
    _file_system.cache_clear()


def test_bytes_sizes_and_listings_are_those_of_the_files(bucket: Path) -> None:
    log = sorted((bucket / "broker-1" / "orders-0").glob("*.log"))[0]
    uri = f"s3://fleet/broker-1/orders-0/{log.name}"
    data = log.read_bytes()
    with open_evidence(uri) as evidence:
        assert (evidence.size, evidence.fileno(), evidence.changed()) == (len(data), -1, False)
        assert evidence.read(17, 100) == data[17:117] and evidence.read_all() == data
        assert evidence.read(len(data) - 3, 100) == data[-3:] and evidence.read(len(data) + 5, 1) == b""
        buffer = bytearray(50)
        assert evidence.read_into(len(data) - 20, memoryview(buffer)) == 20
        assert b"".join(evidence.chunks(1000)) == data
    assert file_size(uri) == len(data) and exists(uri) and not exists(uri + "x")
    assert is_directory("s3://fleet/broker-1") and not is_directory(uri)
    assert [e.name for e in list_directory("s3://fleet/broker-1/orders-0")] == sorted(
        os.listdir(bucket / "broker-1" / "orders-0")
    )
    assert list(expand(["s3://fleet/broker-*/orders-[01]"])) == [
        f"s3://fleet/broker-{n}/orders-{p}" for n in (1, 2, 3) for p in (0, 1)
    ]


def test_reads_across_blocks(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import kidx.evidence.remote

    monkeypatch.setattr(kidx.evidence.remote, "_BLOCK_BYTES", 64)
    log = sorted((bucket / "broker-1" / "orders-0").glob("*.log"))[0]
    data = log.read_bytes()
    with open_evidence(f"s3://fleet/broker-1/orders-0/{log.name}") as evidence:
        for position, length in ((0, 10), (60, 10), (63, 2), (64, 64), (1000, 63), (128, 1)):
            assert evidence.read(position, length) == data[position : position + length]


def test_checks_find_the_same_here_and_there(bucket: Path) -> None:
    flip_byte(sorted((bucket / "broker-2").rglob("*.log"))[0], 100)
    there = [check_target(t, Options()) for t in targets_of(["s3://fleet/broker-2"])]  # type: ignore[arg-type]
    here = [check_target(t, Options()) for t in targets_of([str(bucket / "broker-2")])]  # type: ignore[arg-type]
    found = [f._replace(file=f.file.removeprefix("s3://fleet")) for c in there for f in c.findings]
    assert found == [f._replace(file=f.file.removeprefix(str(bucket))) for c in here for f in c.findings]
    assert found and sum(c.coverage.bytes_checked for c in there) == sum(c.coverage.bytes_checked for c in here)
    marks = {u["path"]: u["mark"] for u in units_of("s3://fleet")}
    assert marks == {u["path"]: u["mark"] for u in units_of("s3://fleet")}


def test_what_is_not_there_is_said_in_a_sentence(bucket: Path) -> None:
    for uri, said in (
        ("s3://fleet/nothing.log", "no such file or directory"),
        ("s3://fleet/broker-1", "it is a directory|a directory, and a file is wanted"),
    ):
        with pytest.raises(CannotRead, match=said):
            open_evidence(uri)
    with pytest.raises(CannotRead, match="no such"):
        list_directory("s3://other/x")
    with pytest.raises(UsageError, match="not a URI that can be read"):
        open_evidence("nonsense://x/y")


def test_verify_reads_a_store(bucket: Path) -> None:
    there = kidx("verify", "s3://fleet/broker-1", "--format", "jsonl")
    here = kidx("verify", bucket / "broker-1", "--format", "jsonl")
    assert there.err == b"" and there.rows[-1] == here.rows[-1]
