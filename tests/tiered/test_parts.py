"""Remote segments as evidence: every part is, byte for byte, the file that the broker handed over."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from contextlib import nullcontext
from pathlib import Path

import pytest

from kidx.errors import CannotRead, UsageError
from kidx.evidence import exists, file_size, open_evidence
from kidx.evidence.tiered import DamagedObject, NoKey, key_files
from kidx.formats.compression import inflation_budget
from kidx.logdir.tree import Partition
from tests import damage
from tests.support import kidx_here
from tests.tiered import recorded
from tests.tiered.recorded import ENCRYPTED, LOCAL, PARTS, ZSTD


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@pytest.fixture
def encrypted() -> Path:
    pytest.importorskip("cryptography")
    return recorded.unpacked(ENCRYPTED)


@pytest.mark.parametrize("name", [LOCAL, ZSTD, ENCRYPTED])
def test_each_part_is_the_brokers_file(name: str) -> None:
    if name == ENCRYPTED:
        pytest.importorskip("cryptography")
    originals = recorded.originals(name)
    live = [o for o in recorded.objects(name) if o.verdict == "live" and o.path.endswith(".log")]
    assert len(live) >= 6
    with key_files(recorded.keys(name)) if name == ENCRYPTED else nullcontext():
        for stored in live:
            stem = str(recorded.unpacked(name) / "remote" / stored.path.removesuffix(".log"))
            for kind, (size, expected) in originals[stored.segment].items():
                with open_evidence(stem + PARTS[kind]) as evidence:
                    data = evidence.read_all()
                assert (len(data), digest(data)) == (size, expected), stem + PARTS[kind]
                assert exists(stem + PARTS[kind])
                if kind != "log":
                    assert file_size(stem + PARTS[kind]) == size


def test_reads_across_chunks_are_slices_of_the_log() -> None:
    log = next(o for o in recorded.objects(ZSTD) if o.verdict == "live" and o.path.endswith(".log"))
    path = str(recorded.unpacked(ZSTD) / "remote" / log.path)
    with open_evidence(path) as evidence:
        whole = evidence.read_all()
        assert evidence.size == len(whole) > 4000  # more than two chunks
        for start, length in ((0, 1), (1990, 20), (1999, 2), (3999, 4000), (len(whole) - 3, 9), (len(whole), 5)):
            assert evidence.read(start, length) == whole[start : start + length]
            room = bytearray(length)
            came = evidence.read_into(start, memoryview(room))
            assert bytes(room[:came]) == whole[start : start + length]


def test_a_directory_of_aivens_lists_the_parts() -> None:
    remote = recorded.unpacked(ZSTD) / "remote"
    manifest = next(o.path for o in recorded.objects(ZSTD) if o.path.endswith(".rsm-manifest"))
    partition = Partition(str((remote / manifest).parent))
    segment = next(s for s in partition.segments if s.tag in manifest)
    assert set(segment.files) >= {"log", "offset_index", "time_index", "transaction_index", "producer_snapshot"}


def test_without_its_key_a_part_says_which_one_opens_it(encrypted: Path) -> None:
    log = next(o for o in recorded.objects(ENCRYPTED) if o.verdict == "live" and o.path.endswith(".log"))
    path = str(encrypted / "remote" / log.path)
    with pytest.raises(NoKey, match=r"give its private key with --key-file (first|second)=PEM"):
        open_evidence(path)
    with pytest.raises(NoKey):
        open_evidence(path.removesuffix(".log") + ".index")


def test_a_wrong_key_is_one_sentence(encrypted: Path) -> None:
    keys = recorded.keys(ENCRYPTED)
    log = next(o for o in recorded.objects(ENCRYPTED) if o.verdict == "live" and o.path.endswith(".log"))
    with (
        key_files({"first": keys["second"], "second": keys["first"]}),
        pytest.raises(NoKey, match="this is not the private key of the key pair"),
    ):
        open_evidence(str(encrypted / "remote" / log.path))


def test_a_file_that_is_no_key_is_refused(encrypted: Path, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("no key\n")
    with pytest.raises(UsageError, match="not an RSA private key in PEM"), key_files({"a": str(tmp_path / "key.pem")}):
        pass
    ran = kidx_here("verify", "--key-file", "first", encrypted / "remote")
    assert (ran.status, ran.out) == (2, b"")
    assert b"write ID=PEM" in ran.err


def test_damage_to_a_chunk_names_its_bytes(tmp_path: Path) -> None:
    stem = copied(ZSTD, tmp_path)
    log = damage.flip_byte(Path(f"{stem}.log"), 2)
    with open_evidence(str(log)) as evidence, pytest.raises(DamagedObject) as raised:
        evidence.read(0, 10)
    assert raised.value.path == str(log)
    assert raised.value.span is not None and raised.value.span[0] == 0


def test_a_chunk_that_inflates_without_end_is_a_limit_and_not_damage(tmp_path: Path) -> None:
    """16 MiB of zeros in some hundred bytes: as the manifest says, but more than the run may inflate."""
    import cramjam

    stem = copied(ZSTD, tmp_path)
    bomb = bytes(cramjam.zstd.compress(bytes(16 << 20)))
    Path(f"{stem}.log").write_bytes(bomb)
    manifest = json.loads(Path(f"{stem}.rsm-manifest").read_bytes())
    sizes = bytes(cramjam.zstd.compress(struct.pack(">ii", 1, len(bomb))))
    manifest |= {"compression": True}
    manifest["chunkIndex"] = {
        "type": "variable",
        "originalChunkSize": 16 << 20,
        "originalFileSize": 16 << 20,
        "transformedChunks": base64.b64encode(sizes).decode(),
    }
    Path(f"{stem}.rsm-manifest").write_text(json.dumps(manifest))
    with open_evidence(f"{stem}.log") as evidence:
        assert evidence.read(0, 4) == bytes(4)
    with inflation_budget(1 << 20), open_evidence(f"{stem}.log") as evidence:
        with pytest.raises(CannotRead, match="--max-inflate") as raised:
            evidence.read(0, 4)
        assert not isinstance(raised.value, DamagedObject)


def test_a_short_object_ends_with_its_last_whole_chunk(tmp_path: Path) -> None:
    stem = copied(ZSTD, tmp_path)
    with open_evidence(f"{stem}.log") as evidence:
        whole = evidence.read_all()
    damage.shrink(Path(f"{stem}.log"), 1)
    with open_evidence(f"{stem}.log") as evidence:
        assert 0 < evidence.size < len(whole)
        assert evidence.read_all() == whole[: evidence.size]


def test_an_index_past_the_end_of_its_object(tmp_path: Path) -> None:
    stem = copied(ZSTD, tmp_path)
    damage.shrink(Path(f"{stem}.indexes"), 3)
    with pytest.raises(DamagedObject, match="the manifest has an index up to"):
        open_evidence(f"{stem}.leader_epoch_checkpoint")


def test_a_part_without_a_manifest_is_not_there(tmp_path: Path) -> None:
    stem = copied(ZSTD, tmp_path)
    Path(f"{stem}.rsm-manifest").unlink()
    assert not exists(f"{stem}.index")
    with pytest.raises(CannotRead, match="no such file"):
        open_evidence(f"{stem}.index")


def test_dump_takes_the_parts_of_both_plugins(tmp_path: Path) -> None:
    stem = copied(ZSTD, tmp_path)
    ran = kidx_here("dump", "--format", "jsonl", f"{stem}.indexes")
    assert ran.status == 0
    files = {row["file"] for row in ran.rows if "file" in row}
    assert {Path(f).name.partition(".")[2] for f in files} >= {"timeindex", "leader_epoch_checkpoint", "snapshot"}
    manifest = kidx_here("dump", "--format", "jsonl", f"{stem}.rsm-manifest").rows
    values = {row["name"]: row["value"] for row in manifest}
    assert values["version"] == "1"
    assert values["remoteLogSegmentMetadata.startOffset"] == int(Path(stem).name[:20])


def copied(name: str, tmp_path: Path) -> str:
    """The stem of a copy of one live segment's objects."""
    for stored in recorded.objects(name):
        if stored.verdict == "live" and stored.path.endswith(".rsm-manifest"):
            source = recorded.unpacked(name) / "remote" / stored.path
            stem = source.name.removesuffix(".rsm-manifest")
            for file in source.parent.glob(f"{stem}.*"):
                (tmp_path / file.name).write_bytes(file.read_bytes())
            return str(tmp_path / stem)
    raise AssertionError(name)
