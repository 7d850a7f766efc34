"""Whatever bytes a store holds, a command ends with an answer, findings or a refusal: never with a bug of kidx."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from kidx.cli.rocketmq import command
from kidx.errors import KidxError
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
