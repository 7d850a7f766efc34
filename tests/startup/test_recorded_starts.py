"""Every prediction is what a real broker did."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

from kidx.startup.behaviours import BEHAVIOURS
from kidx.startup.log_manager import predict
from kidx.startup.outcome import DELETE, TRUNCATE, Prediction
from tests.startup.recorded import names, recorded, started_names

_UNIQUE = re.compile(r"\.[0-9a-f]{32}-stray$")
# The configured broker.id stands in no file of a ZooKeeper broker.
NOT_IN_THE_FILES = {"kafka-2.8.2/clean-meta-wrong-node"}
NAMES = [name for name in names() if name not in NOT_IN_THE_FILES]
STARTED = [name for name in started_names() if name not in NOT_IN_THE_FILES]


def start_of(name: str) -> tuple[Prediction, dict[str, Any]]:
    start = recorded(name)
    return predict(start.log_dirs, start.outcome["version"]), start.outcome


def short(log_dir: str) -> str:
    return os.path.basename(log_dir)


@pytest.mark.parametrize("name", NAMES)
def test_it_starts_or_not_as_the_broker_did(name: str) -> None:
    start, outcome = start_of(name)
    assert (start.starts, list(map(short, start.offline_dirs))) == (outcome["started"], outcome["offline_dirs"])
    assert (start.reason is None) == start.starts


@pytest.mark.parametrize("name", STARTED)
def test_offsets_and_segments_are_those_that_the_broker_loaded(name: str) -> None:
    start, outcome = start_of(name)
    found = {
        f"{short(p.directory)}/{p.name}": (p.log_start_offset, p.log_end_offset, p.segments) for p in start.partitions
    }
    for place, loaded in outcome["loaded"].items():
        here = place if place in found else _UNIQUE.sub("", place)  # the new name of a stray one is random
        assert found[here] == tuple(loaded.values()), place


@pytest.mark.parametrize("name", STARTED)
def test_the_same_segments_are_recovered(name: str) -> None:
    start, outcome = start_of(name)
    recovered = {(short(p.directory), p.name, base) for p in start.partitions for base in p.recovered_segments}
    known = {(r["directory"], r["partition"], r["segment"]) for r in outcome["recovered_segments"]}
    assert recovered == known


@pytest.mark.parametrize("name", STARTED)
def test_the_same_logs_change_their_length(name: str) -> None:
    start, outcome = start_of(name)
    known = {
        file: (change["size_before"], change["after"]["size"])
        for file, change in outcome["files"]["changed"].items()
        if file.endswith(".log") and "__cluster" not in file and change["size_before"] != change["after"]["size"]
    }
    found = {
        f"{short(a.directory)}/{a.partition}/{os.path.basename(a.file or '')}": (a.bytes_before, a.bytes_after)
        for a in start.actions
        if a.action == TRUNCATE and a.partition != "__cluster_metadata-0"
    }
    assert found == known


@pytest.mark.parametrize("name", STARTED)
def test_the_same_producer_snapshots_are_deleted(name: str) -> None:
    start, outcome = start_of(name)
    if outcome["files"]["renamed"] or "-stray" in str(outcome["loaded"]):
        pytest.skip("files have other names")
    known = {f for f in outcome["files"]["removed"] if f.endswith(".snapshot") and f.startswith("d")}
    found = {
        f"{short(a.directory)}/{a.partition}/{os.path.basename(a.file or '')}"
        for a in start.actions
        if a.action == DELETE and (a.file or "").endswith(".snapshot")
    }
    if outcome["scenario"] not in ("clean-swap-log-only", "clean-symlinked-partition"):
        assert found - _metadata(found) == known - _metadata(known)


def _metadata(files: set[str]) -> set[str]:
    return {file for file in files if "/__cluster_metadata-0/" in file}


def recorded_run(run: str) -> str | None:
    version, _, scenario = run.rpartition(": ")
    name = f"kafka-{version or '4.3.1'}/{scenario}"
    return name if name in NAMES else None


@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=lambda b: b.name)
def test_a_behaviour_is_predicted_for_the_run_that_shows_it(behaviour: Any) -> None:
    name = recorded_run(behaviour.run)
    if name is None:
        pytest.skip(f"its run is not among the fixtures: {behaviour.run}")
    start, _ = start_of(name)
    assert behaviour.name in {action.behaviour.name for action in start.actions}
