"""Java's ways, held against what Java did."""

from __future__ import annotations

import shutil
from pathlib import Path

from kidx.compat.dump_log_segments import java
from tests.damage import entry, set_entry
from tests.support import FIXTURES, kidx

# the order in which java.util.HashMap (17) gave the paths below
RECORDED = [
    4,
    7,
    22,
    25,
    17,
    1,
    12,
    2,
    18,
    3,
    24,
    15,
    14,
    5,
    28,
    29,
    16,
    0,
    11,
    27,
    26,
    20,
    19,
    10,
    9,
    13,
    6,
    8,
    23,
    21,
]


def test_the_order_of_a_hash_map() -> None:
    paths = [f"/data/topic-{i * 7 % 30}/{i * 1117:020d}.index" for i in range(30)]
    assert java.hash_map_order(paths) == [paths[i] for i in RECORDED]
    assert java.hash_map_order([*paths, *paths]) == [paths[i] for i in RECORDED]
    assert java.hash_map_order(["Aa", "BB", "C#", "é", "😀", "x"]) == [
        "C#",
        "BB",
        "Aa",
        "x",
        "😀",
        "é",
    ]  # one hash thrice
    assert java.hash_map_order([]) == []


def test_complaints_come_in_that_order_with_javas_absolute_paths(tmp_path: Path) -> None:
    source = max((FIXTURES / "kafka-4.3.1/clean/default-interval-0").glob("*.index"))
    names = []
    for number in range(20):
        name = f"topic-{number}/{source.name}"
        directory = tmp_path / f"topic-{number}"
        directory.mkdir()
        for file in (source, source.with_suffix(".log")):
            shutil.copy(file, directory)
        set_entry(tmp_path / name, 0, 1, entry(tmp_path / name, 0)[1])
        names.append(f"./../{tmp_path.name}/{name}")
    ran = kidx("dump", "--format", "kafka", *names, cwd=tmp_path)
    said = [line.removeprefix("Mismatches in :") for line in ran.err.decode().splitlines() if line.startswith("Mis")]
    assert said == java.hash_map_order(f"{tmp_path}/{name}" for name in names)
    assert said != sorted(said, key=lambda s: names.index(s.removeprefix(f"{tmp_path}/")))
