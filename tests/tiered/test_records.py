"""Records from both tiers, and from a tier alone: as a consumer was given them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.support import kidx_here
from tests.tiered import recorded
from tests.tiered.recorded import LOCAL, ZSTD


def digest(rows: list[dict[str, Any]]) -> str:
    """The digest of records.tsv."""

    def sha(text: str | None) -> str | None:
        return None if text is None else hashlib.sha256(bytes.fromhex(text)).hexdigest()

    text = "".join(f"{r['offset']} {r['timestamp']} {sha(r['key'])} {sha(r['value'])}\n" for r in rows)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def exported(*args: object) -> list[dict[str, Any]]:
    pytest.importorskip("pyarrow")
    ran = kidx_here("export", *args, "--format", "jsonl", "--encoding", "hex")
    assert ran.status == 0, ran.err
    return ran.rows


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_export_gives_what_consumers_were_given(isolation: str) -> None:
    home = recorded.unpacked(LOCAL)
    starts = {
        f"{r['topic']}-{r['partition']}": int(r["offset"])
        for r in recorded.answers(LOCAL, "offsets.tsv")
        if r["spec"] == "earliest"
    }
    wanted = [row for row in recorded.plain_answers(LOCAL, "records.tsv") if row[1] == isolation]
    rows = exported(home / "local", "--remote", home / "remote", "--isolation", isolation)
    by_place: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_place.setdefault(f"{row['topic']}-{row['partition']}", []).append(row)
    checked = 0
    for place, _, count, expected in wanted:
        if (home / "local" / place).is_dir() and int(count):
            got = [row for row in by_place[place] if row["offset"] >= starts[place]]
            assert (len(got), digest(got)) == (int(count), expected), place
            checked += 1
    assert checked > 10


def test_a_tier_alone_has_a_topics_name_from_its_manifests() -> None:
    rows = exported(recorded.unpacked(ZSTD) / "remote", "--topic", "clicks")
    assert {(row["topic"], row["partition"]) for row in rows} == {("clicks", 0)}
    offsets = [row["offset"] for row in rows]
    assert offsets == sorted(set(offsets)) and offsets[0] == 0 and offsets[-1] > 200


def test_recover_from_a_tier_alone(tmp_path: Path) -> None:
    remote = recorded.unpacked(LOCAL) / "remote"
    ran = kidx_here(
        "recover", remote, "--output", tmp_path / "new", "--node-id", 1, "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ"
    )
    assert ran.status == 0, ran.err
    assert kidx_here("verify", tmp_path / "new", "--fail-level", "warning").status == 0
    place = next(
        f"{row['topic']}-{row['partition']}"
        for row in recorded.answers(LOCAL, "offsets.tsv")
        if row["spec"] == "latest_tiered" and int(row["offset"]) > 100
    )
    assert exported(tmp_path / "new" / place) == [
        row | {"segment": made["segment"], "position": made["position"]}
        for row, made in zip(
            exported(remote, "--topic", place.rpartition("-")[0], "--partition", place.rpartition("-")[2]),
            exported(tmp_path / "new" / place),
            strict=True,
        )
    ]


def test_sizes_of_both_tiers() -> None:
    home = recorded.unpacked(LOCAL)
    rows = kidx_here("stat", "--by", "state", home / "local", "--remote", home / "remote", "--format", "jsonl").rows
    expected = sum(f.stat().st_size for f in (home / "remote").rglob("*") if f.is_file())
    assert {row["state"]: row["bytes"] for row in rows}["remote"] == expected
    topics = kidx_here("stat", "--by", "topic", home / "remote", "--format", "jsonl").rows
    assert {row["topic"] for row in topics} >= {"meters", "sensor_data", "letters-a-b"}


def test_remote_log_metadata_is_replayed_like_other_topics() -> None:
    home = recorded.unpacked(LOCAL)
    ran = kidx_here("state", home / "local", "--kind", "remote_segment", "--format", "jsonl")
    assert ran.status == 0
    states = [row["value"]["state"] for row in ran.rows if row["schema"] == "kidx.state.v1"]
    assert len(states) == 63 and set(states) == {
        "COPY_SEGMENT_STARTED",
        "COPY_SEGMENT_FINISHED",
        "DELETE_SEGMENT_STARTED",
    }
