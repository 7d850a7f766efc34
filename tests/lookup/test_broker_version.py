"""What depends on the broker's version: ListOffsets' special timestamps, and which search is the default."""

from __future__ import annotations

import pytest

from tests.support import KAFKA_SETS, kidx_here

TIMES = KAFKA_SETS[0] / "clean" / "logappend-0"


def max_timestamp(version: str) -> tuple[int, int]:
    (row,) = kidx_here(
        "lookup", TIMES, "--timestamp", "max-timestamp", "--broker-version", version, "--format", "jsonl"
    ).rows
    return row["found"]["offset"], row["found"]["timestamp"]


def test_before_3_8_the_time_indexs_offset_is_the_answer() -> None:
    """Under LogAppendTime a batch's records share its timestamp: the first is the record's, the last the index's."""
    (last, timestamp), (first, same) = max_timestamp("3.7.2"), max_timestamp("3.8")
    assert timestamp == same
    assert first < last
    assert max_timestamp("4.3") == (first, timestamp)


@pytest.mark.parametrize(
    ("word", "version", "since"), [("max-timestamp", "2.8", "3.0"), ("earliest-local", "3.4", "3.5")]
)
def test_what_a_version_does_not_know(word: str, version: str, since: str) -> None:
    ran = kidx_here("lookup", TIMES, "--timestamp", word, "--broker-version", version)
    assert ran.status == 2
    assert f"a broker of {version} does not know it; it came with {since}".encode() in ran.err


def test_an_old_brokers_search_is_the_standard_one() -> None:
    (index, *_) = sorted(TIMES.glob("*.index"))

    def searches(*words: str) -> list[str]:
        return [row["search"] for row in kidx_here("lookup", index, 40, "--format", "jsonl", *words).rows]

    assert searches() == ["warm"]
    assert searches("--broker-version", "2.1") == ["standard"]
    assert searches("--broker-version", "2.1", "--search", "warm") == ["warm"]


@pytest.mark.parametrize("version", ["3", "3.x", "0.8.2", "١.٢"])
def test_no_version(version: str) -> None:
    assert kidx_here("lookup", TIMES, "--timestamp", "latest", "--broker-version", version).status == 2
