"""kidx state --quorum: which copy of the metadata log goes furthest, and where the others diverge."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.building import batch, record
from tests.damage import flip_byte
from tests.state.building import metadata
from tests.support import kidx_here

DIRECTORY = "__cluster_metadata-0"


def write(place: Path, *epochs: int, name: str = "f") -> Path:
    """A controller's directory whose log has a record an epoch, two records in each batch of an epoch's run."""
    directory = place / DIRECTORY
    directory.mkdir(parents=True)
    log = b""
    for offset, epoch in enumerate(epochs):
        pair = metadata("FeatureLevel", name=f"{name}{epoch}", featureLevel=offset + 1)
        log += batch([record(0, 0, *pair)], base_offset=offset, leader_epoch=epoch)
    (directory / f"{0:020}.log").write_bytes(log)
    state = {"leaderId": 2, "leaderEpoch": epochs[-1], "votedId": -1, "currentVoters": [{"voterId": 1}, {"voterId": 2}]}
    (directory / "quorum-state").write_text(json.dumps(state))
    (place / "meta.properties").write_text(f"version=1\nnode.id={place.name[-1]}\ncluster.id=abc\n")
    return place


@pytest.fixture
def controllers(tmp_path: Path) -> list[Path]:
    """One behind, one whose last records were never committed, and the best."""
    return [
        write(tmp_path / "c1", 1, 1, 1),
        write(tmp_path / "c2", 1, 1, 1, 1, 2, 2, 2),
        write(tmp_path / "c3", 1, 1, 1, 1, 3, 3),
    ]


def test_the_last_epoch_counts_before_the_length(controllers: list[Path]) -> None:
    ran = kidx_here("state", "--quorum", *controllers, "--format", "jsonl")
    assert (ran.status, ran.err) == (1, b"")
    best, second, third = ran.rows
    assert (best["directory"], best["best"], best["node_id"]) == (str(controllers[2] / DIRECTORY), True, 3)
    assert (best["log_end_offset"], best["last_epoch"], best["diverges_at"]) == (6, 3, None)
    assert (second["node_id"], second["log_end_offset"], second["diverges_at"]) == (2, 7, 4)
    assert "these 3 offsets off" in second["why"]
    assert (third["node_id"], third["diverges_at"], third["why"]) == (1, None, "3 offsets behind the best copy")
    assert best["voters"] == [1, 2] and best["leader_id"] == 2
    screen = kidx_here("state", "--quorum", *controllers).out.decode()
    assert screen.startswith(f"best seed for a recovery: {controllers[2] / DIRECTORY}, of 3 copies\n")


def test_copies_that_agree_are_clean(controllers: list[Path], tmp_path: Path) -> None:
    twin = shutil.copytree(controllers[0], tmp_path / "c9")
    ran = kidx_here("state", "--quorum", controllers[0], twin, "--format", "jsonl")
    assert (ran.status, [row["why"] for row in ran.rows][1]) == (0, "the same as the best copy")


def test_a_damaged_copy_counts_up_to_its_damage(controllers: list[Path]) -> None:
    flip_byte(controllers[2] / DIRECTORY / f"{0:020}.log", -3)
    rows = kidx_here("state", "--quorum", *controllers[1:], "--format", "jsonl").rows
    assert (rows[0]["node_id"], rows[0]["log_end_offset"]) == (3, 5)
    assert "the batch at offset 5 is damaged" in rows[0]["why"]


def test_refusals(controllers: list[Path], tmp_path: Path) -> None:
    ran = kidx_here("state", "--quorum", controllers[0])
    assert ran.status == 2 and b"name two or more" in ran.err
    ran = kidx_here("state", "--quorum", *controllers, "--topic", "x")
    assert ran.status == 2 and b"cannot be combined" in ran.err
    (controllers[0] / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=other\n")
    ran = kidx_here("state", "--quorum", *controllers)
    assert ran.status == 2 and b"several clusters: abc, other" in ran.err
    (controllers[0] / "meta.properties").unlink()
    (controllers[0] / DIRECTORY / "quorum-state").write_text("{")
    ran = kidx_here("state", "--quorum", *controllers)
    assert ran.status == 3 and b"quorum-state" in ran.err
