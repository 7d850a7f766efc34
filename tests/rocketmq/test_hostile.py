"""Whatever bytes a store holds, a command ends with an answer, findings or a refusal: never with a bug of kidx."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from kidx.cli.rocketmq import command
from kidx.errors import KidxError
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import INDEX_ENTRY, INDEX_HEADER
from kidx.rocketmq.index_file import DEFAULT_ENTRIES, DEFAULT_SLOTS, infer_shape
from tests.rocketmq.cases import SETS, lay_out

KINDS = ("commitlog", "consumequeue", "batchconsumequeue", "consumequeue_ext", "index", "checkpoint", "abort")
CASES = [s / name for s in SETS for name in ("plain", "cq_ext", "batch_cq", "unclean") if (s / name).is_dir()]


def _ask_all(store: Path, topic: str) -> None:
    for args in (
        ["verify", store],
        ["verify", store, "--config", store.parent / "store.properties", "--format", "jsonl"],
        ["stat", store],
        ["dump", store, "--format", "jsonl"],
        ["lookup", store, topic, 0, "--time", 1618699700000, "--trace-pages"],
        ["lookup", store, topic, 0, "--time", 5, "--algorithm", "classic", "--format", "json"],
        ["lookup", store, topic, 0, "--offset", 3],
        ["lookup", store, topic, "--key", "order-1"],
        ["pull", store, topic, 0, "--offset", 2, "--memory", 1000],
        ["diff", store, store],
    ):
        result = CliRunner().invoke(command, [str(a) for a in args], standalone_mode=False)
        error = result.exception
        assert error is None or isinstance(error, KidxError), (args, repr(error), result.exc_info)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.parent.name}-{c.name}")
@pytest.mark.parametrize("seed", range(4))
def test_random_bytes(case: Path, seed: int, tmp_path: Path) -> None:
    store, chance = lay_out(case, tmp_path), random.Random(f"{case.name}{seed}")
    files = sorted(p for kind in KINDS for p in [store / kind, *(store / kind).rglob("*")] if p.is_file())
    for path in chance.sample(files, min(3, len(files))):
        data = bytearray(path.read_bytes())
        for _ in range(chance.choice((1, 20, 400))):
            if data:
                at = chance.randrange(len(data))
                data[at : at + 4] = chance.choice(
                    (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", chance.randbytes(4))
                )
        path.write_bytes(data[: path.stat().st_size])
    _ask_all(store, next((case / "store" / "consumequeue").iterdir()).name)


@pytest.mark.parametrize("do", ["empty", "cut", "noise", "gone", "directory"])
@pytest.mark.parametrize("kind", ["commitlog", "consumequeue", "index", "checkpoint"])
def test_files_that_are_not_what_they_say(do: str, kind: str, tmp_path: Path) -> None:
    store = lay_out(SETS[-1] / "plain", tmp_path)
    path = min(p for p in [store / kind, *(store / kind).rglob("*")] if p.is_file())
    size = path.stat().st_size
    if do == "empty":
        path.write_bytes(b"")
    elif do == "cut":
        path.write_bytes(path.read_bytes()[: size // 2 + 3])
    elif do == "noise":
        path.write_bytes(random.Random(kind).randbytes(size))
    else:
        path.unlink()
        if do == "directory":
            path.mkdir()
    _ask_all(store, "Orders")


def test_a_store_without_commit_log_has_no_messages(tmp_path: Path) -> None:
    store = lay_out(SETS[-1] / "plain", tmp_path)
    shutil.rmtree(store / "commitlog")
    _ask_all(store, "Orders")


@pytest.mark.parametrize("kind", ["commitlog", "consumequeue", "index"])
def test_a_file_that_no_broker_could_map_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    store = lay_out(SETS[-1] / "plain", tmp_path)
    path = min(p for p in (store / kind).rglob("*") if p.is_file())
    os.truncate(path, 1 << 40)
    result = CliRunner().invoke(command, ["verify", str(store)], standalone_mode=False)
    assert f"{path}: 1,099,511,627,776 bytes; a file of a store has at most 2,147,483,647" in result.output
    assert result.return_value == 3
    _ask_all(store, "Orders")


@pytest.mark.parametrize("kind", ["consumequeue", "batchconsumequeue"])
def test_units_in_holes_are_not_read(kind: str, tmp_path: Path) -> None:
    store = lay_out(SETS[-1] / ("plain" if kind == "consumequeue" else "batch_cq"), tmp_path)
    path = min(p for p in (store / kind).rglob("*") if p.is_file())
    with path.open("r+b") as f:
        f.seek(2_000_000_000)
        f.write(b"\1" * 4096)
    if not os.stat(path).st_blocks < 1 << 20:
        pytest.skip("this file system has no holes")
    result = CliRunner().invoke(command, ["verify", str(store)], standalone_mode=False)
    assert "bytes up to its last entry are holes; no broker leaves such a file" in result.output
    assert result.return_value == 3


def test_an_index_that_counts_entries_in_holes_is_a_finding(tmp_path: Path) -> None:
    store = lay_out(SETS[-1] / "plain", tmp_path)
    path = min(p for p in (store / "index").iterdir())
    os.truncate(path, INDEX_HEADER.size + 4 * DEFAULT_SLOTS + INDEX_ENTRY.size * DEFAULT_ENTRIES)
    with path.open("r+b") as f:
        f.seek(INDEX_HEADER.size - 4)
        f.write((DEFAULT_ENTRIES - 1).to_bytes(4))
    result = CliRunner().invoke(command, ["verify", "--format", "jsonl", str(store)], standalone_mode=False)
    assert "it counts 19999998 entries, and most of their bytes are holes" in result.output


def test_a_message_larger_than_any_is_not_read(tmp_path: Path) -> None:
    store = lay_out(SETS[-1] / "plain", tmp_path)
    path = min((store / "commitlog").iterdir())
    os.truncate(path, 1 << 30)
    with path.open("r+b") as f:
        f.write((900 << 20).to_bytes(4))
    result = CliRunner().invoke(command, ["dump", "--format", "jsonl", str(path)], standalone_mode=False)
    assert "size 943718400 is more than kidx reads as one message" in result.output


def test_inferring_a_shape_ends(tmp_path: Path) -> None:
    """A file full of what its header says of the last entry: each place could be that entry."""
    path = tmp_path / "20261121072512569"
    path.write_bytes(INDEX_HEADER.struct.pack(1, 2, 0, 7, 1, 5) + (7).to_bytes(8) * 300_000)
    assert infer_shape(OpenFiles(), str(path)) is None
