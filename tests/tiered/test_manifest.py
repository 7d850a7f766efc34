"""Manifests come from strangers: each field is checked, and nothing is as large as it says without being so."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cramjam
import pytest

from kidx.errors import WrongFormat
from kidx.formats.object_names import parse_object_name
from kidx.formats.remote_objects import ChunkIndex, Manifest, parse_manifest
from tests.tiered import recorded
from tests.tiered.recorded import ENCRYPTED, ZSTD

Change = Callable[[dict[str, Any]], object]


def manifest(name: str = ZSTD) -> dict[str, Any]:
    stored = next(o for o in recorded.objects(name) if o.verdict == "live" and o.path.endswith(".rsm-manifest"))
    return dict(json.loads((recorded.unpacked(name) / "remote" / stored.path).read_bytes()))


def place(fields: dict[str, Any]) -> dict[str, Any]:
    """The topic and partition of a manifest."""
    segment = fields["remoteLogSegmentMetadata"]["remoteLogSegmentId"]
    found: dict[str, Any] = segment["topicIdPartition"]["topicPartition"]
    return found


def parsed(fields: dict[str, Any]) -> Manifest:
    return parse_manifest(json.dumps(fields).encode())


def test_a_manifest_as_it_was_written() -> None:
    fields = manifest()
    read = parsed(fields)
    about = fields["remoteLogSegmentMetadata"]
    assert (read.start_offset, read.end_offset) == (about["startOffset"], about["endOffset"])
    assert read.leader_epochs == {int(e): o for e, o in about["segmentLeaderEpochs"].items()}
    assert read.chunks.original(read.chunks.count - 1)[1] == fields["chunkIndex"]["originalFileSize"]
    assert parsed(manifest(ENCRYPTED)).data_key is not None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda m: m.update(version="2"), "version '2'"),
        (lambda m: m.update(compression="true"), "compression is 'true', not true or false"),
        (lambda m: m.update(more=1), "'more' is no field"),
        (lambda m: m.pop("chunkIndex"), "chunkIndex. is not a JSON object"),
        (lambda m: m["chunkIndex"].update(originalChunkSize=0), "originalChunkSize is 0, which is out of range"),
        (lambda m: m["chunkIndex"].update(originalFileSize=2**31), "originalFileSize is 2147483648"),
        (lambda m: m["chunkIndex"].update(originalFileSize=1e3), "not an integer"),
        (lambda m: m["chunkIndex"].update(originalFileSize=2**31 - 1, originalChunkSize=1), "2147483647 chunks"),
        (lambda m: m["chunkIndex"].update(transformedChunks="-"), "transformedChunks is not base64"),
        (lambda m: m["chunkIndex"].update(transformedChunks="AAAA"), "transformedChunks: zstd"),
        (lambda m: m["chunkIndex"].update(type="odd"), "type is 'odd'"),
        (lambda m: m["segmentIndexes"]["timestamp"].update(position=7), "timestamp.position is 7"),
        (lambda m: m["segmentIndexes"]["offset"].update(size=-1), "offset.size is -1"),
        (lambda m: m["segmentIndexes"].pop("leaderEpoch"), "leaderEpoch. is not a JSON object"),
        (lambda m: m["remoteLogSegmentMetadata"].update(startOffset=None), "startOffset is None"),
        (lambda m: m["remoteLogSegmentMetadata"].update(segmentLeaderEpochs={}), "not a map from leader epochs"),
        (lambda m: m["remoteLogSegmentMetadata"].update(segmentLeaderEpochs={"x": 1}), "not a map from leader epochs"),
        (lambda m: m["remoteLogSegmentMetadata"]["remoteLogSegmentId"].update(id="../../etc/passwd"), "not an id"),
        (lambda m: place(m).update(topic="../../etc/x"), "not a name of a topic"),
        (lambda m: place(m).update(topic=".."), "not a name of a topic"),
        (lambda m: place(m).update(topic="a" * 250), "not a name of a topic"),
        (lambda m: m.update(encryption={"dataKey": "none", "aad": ""}), "no key pair's id"),
        (lambda m: m.update(encryption={"dataKey": "a:!", "aad": ""}), "dataKey is not base64"),
    ],
)
def test_what_no_plugin_writes(change: Change, why: str) -> None:
    fields = manifest()
    change(fields)
    with pytest.raises(WrongFormat, match=why.replace("(", r"\(")):
        parsed(fields)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff{}", b'{"version": ' + b"[" * 100_000, b'"text"'])
def test_what_is_no_manifest(data: bytes) -> None:
    with pytest.raises(WrongFormat, match="not a JSON object"):
        parse_manifest(data)


def test_chunk_sizes_that_inflate_without_end() -> None:
    fields = manifest()
    bomb = bytes(cramjam.zstd.compress(bytes(64 << 20)))
    fields["chunkIndex"]["transformedChunks"] = base64.b64encode(bomb).decode()
    with pytest.raises(WrongFormat, match="inflates to more than"):
        parsed(fields)


def test_chunks_of_equal_size_need_no_list() -> None:
    chunks = ChunkIndex(2**31 - 1, 1, 29, 29, None)
    assert chunks.count == 2**31 - 1
    assert chunks.stored(chunks.count - 1) == (29 * (2**31 - 2), 29 * (2**31 - 1))
    assert chunks.whole_in(100) == 3


@pytest.mark.parametrize(
    "name",
    [
        "00000000000000000042-AbCdEfGhIjKlMnOpQrSt-_.zip",
        "00000000000000000042_AbCdEfGhIjKlMnOpQrSt-_.log",
        "0000000000000000042-AbCdEfGhIjKlMnOpQrSt-_0.log",
        "00000000000000000042-AbCdEfGhIjKlMnOpQrSt/_.log",
        "99999999999999999999-AbCdEfGhIjKlMnOpQrSt-_.log",
        "00000000000000000042-AbCdEfGhIjKlMnOpQrSt-_.log.deleted",
    ],
)
def test_names_of_no_object(name: str) -> None:
    assert parse_object_name(name) is None


def test_ids_may_contain_dashes() -> None:
    found = parse_object_name("00000000000000000042---CdEfGhIjKlMnOpQrSt-_.rsm-manifest")
    assert found == (42, "--CdEfGhIjKlMnOpQrSt-_", ".rsm-manifest")


def test_the_path_is_not_part_of_the_name(tmp_path: Path) -> None:
    assert parse_object_name(str(tmp_path / "00000000000000000042-AbCdEfGhIjKlMnOpQrSt-_.log")) is None
