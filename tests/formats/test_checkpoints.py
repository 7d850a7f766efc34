"""The text files beside logs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.errors import WrongFormat
from kidx.formats.checkpoints import (
    parse_leader_epochs,
    parse_offset_checkpoint,
    parse_partition_metadata,
    parse_properties,
    parse_quorum_state,
)
from tests.support import FIXTURES


def test_the_fixtures_have_no_problems() -> None:
    for path in FIXTURES.glob("kafka-*/*/**/*-checkpoint"):
        parse = parse_leader_epochs if path.name == "leader-epoch-checkpoint" else parse_offset_checkpoint
        rows, problems = parse(path.read_bytes())
        assert problems == []
        assert len(rows) == max(0, path.read_bytes().count(b"\n") - 2)
    for path in FIXTURES.glob("kafka-*/*/**/meta.properties"):
        assert {"version", "cluster.id"} <= set(parse_properties(path.read_bytes()))
    for path in FIXTURES.glob("kafka-*/*/**/partition.metadata"):
        assert set(parse_partition_metadata(path.read_bytes())) == {"version", "topic_id"}
    for path in FIXTURES.glob("kafka-*/*/**/quorum-state"):
        assert "leaderEpoch" in parse_quorum_state(path.read_bytes())


@pytest.mark.parametrize(
    ("data", "rows", "lines"),
    (
        (b"", [], []),
        (b"0\n1\na 0 5\n", [("a", 0, 5)], []),
        (b"0\n2\na 0 5\n", [("a", 0, 5)], [2]),
        (b"1\n1\na 0 5\n", [("a", 0, 5)], [1]),
        (b"0\n1\na 0\n", [], [3]),
        (b"0\n1\na 0 x\n", [], [3]),
        (b"0\n1\na \t0\x0b5 \n", [("a", 0, 5)], []),
        (b"0\n1\na\x1f0 5\n", [], [3]),
        (b"0\n1\n a 0 5\n", [], [3]),
        (b"0\n2\na 0 5\na 0 6\n", [("a", 0, 5), ("a", 0, 6)], [4]),
        (b"0", [], [2]),
        (b"\x00\x00\x00", [], [1, 2]),
    ),
)
def test_offset_checkpoints(data: bytes, rows: list[object], lines: list[int]) -> None:
    found, problems = parse_offset_checkpoint(data)
    assert found == rows
    assert sorted(problem.line or 0 for problem in problems) == lines


@pytest.mark.parametrize(
    ("data", "lines"),
    ((b"0\n2\n0 0\n2 9\n", []), (b"0\n2\n2 0\n2 9\n", [4]), (b"0\n2\n0 9\n2 9\n", [4]), (b"0\n1\n0 0 0\n", [3])),
)
def test_leader_epochs(data: bytes, lines: list[int]) -> None:
    assert [problem.line for problem in parse_leader_epochs(data)[1]] == lines


def test_java_properties() -> None:
    data = b"#c\n!d\n\na=1\nb : two words\nc\\=d=\\u0041\\n\nbare\n"
    assert parse_properties(data) == {"a": "1", "b": "two words", "c=d": "A\n", "bare": ""}


def test_what_is_no_such_file() -> None:
    with pytest.raises(WrongFormat, match=r"partition\.metadata"):
        parse_partition_metadata(b"nonsense")
    for junk in (b"", b"[1]", b"{", b"[" * 100_000, b"\xff"):
        with pytest.raises(WrongFormat, match="quorum-state"):
            parse_quorum_state(junk)


@given(st.binary(max_size=200))
def test_junk(data: bytes) -> None:
    parse_offset_checkpoint(data)
    parse_leader_epochs(b"0\n" + data)
    parse_properties(data)


def test_a_file_of_wrong_lines_is_given_up() -> None:
    """What is no checkpoint costs no more than one of its size that is."""
    for parse in (parse_offset_checkpoint, parse_leader_epochs):
        _, problems = parse(b"0\n9\n" + b"x\n" * 100_000)
        assert 1000 <= len(problems) <= 1002
    rows, problems = parse_offset_checkpoint(b"0\n9\n" + b"a 0 5\n" * 100_000)
    assert 1000 <= len(problems) <= 1002 and set(rows) == {("a", 0, 5)}
    _, problems = parse_leader_epochs(b"0\n9\n" + b"1 1\n" * 100_000)
    assert 1000 <= len(problems) <= 1002
