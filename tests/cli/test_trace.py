from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.schemas import documented_fields
from tests.damage import set_entry
from tests.support import FIXTURES, kidx

CLEAN = FIXTURES / "kafka-4.3.1" / "clean"
PAGES13 = CLEAN / "pages13-0" / "00000000000000000000.index"
PAGES14 = CLEAN / "pages14-0" / "00000000000000000000.index"
TIMES = CLEAN / "pages14-0" / "00000000000000000000.timeindex"


def rows(*args: object, stdin: str = "") -> list[dict[str, object]]:
    ran = kidx("trace", *args, "--format", "jsonl", stdin=stdin)
    assert ran.status == 0, ran.err
    return ran.rows


@pytest.mark.parametrize(
    ("path", "standard", "warm"),
    [(PAGES13, [0, 6, 9, 11, 12], [10, 11, 12]), (PAGES14, [0, 7, 10, 12, 13], [11, 12, 13])],
)
def test_pages_of_the_last_entry(path: Path, standard: list[int], warm: list[int]) -> None:
    last = path.stat().st_size // 8
    assert [(row["search"], row["pages"]) for row in rows(path, last)] == [("standard", standard), ("warm", warm)]
    assert rows(path, last, "--search", "warm")[0]["pages"] == warm


def test_the_map_is_readable_without_color() -> None:
    text = kidx("trace", PAGES14, 7168).out.decode().splitlines()
    assert text[0].endswith("7,168 entries, 14 pages")
    assert "standard  █······█··█·██" in text and "warm      ···········███" in text
    assert "          14 probes, 5 pages: 0 7 10 12 13" in text
    assert text[-1].endswith("warm section: from slot 6143")


def test_color_is_only_added() -> None:
    colored = kidx("trace", PAGES14, 7168, "--color", "always").out.decode()
    assert "\x1b[32m███\x1b[0m" in colored
    assert colored.replace("\x1b[32m", "").replace("\x1b[0m", "") == kidx("trace", PAGES14, 7168).out.decode()


def test_the_tail_stays_in_the_warm_section_under_the_warm_search() -> None:
    standard, warm = rows(PAGES14, "--workload", "tail")
    assert standard["lookups"] == warm["lookups"] == 1024
    assert warm["pages"] == [11, 12, 13]
    assert set(standard["pages"]) > {0, 7}  # type: ignore[call-overload]


def test_all_entries_are_counted_on_their_pages() -> None:
    for row in rows(TIMES, "--workload", "all"):
        assert row["lookups"] == 7168 and row["pages"] == list(range(21))
        first = {touch["page"]: touch["lookups"] for touch in row["touches"]}[0]  # type: ignore[attr-defined]
        assert first == 7168 if row["search"] == "standard" else first < 7168


def test_random_targets_repeat_with_their_seed() -> None:
    first = rows(PAGES14, "--workload", "uniform", "--seed", 5)
    assert first == rows(PAGES14, "--workload", "uniform", "--seed", 5)
    assert first != rows(PAGES14, "--workload", "uniform", "--seed", 6)
    assert first[0]["lookups"] == 100_000


def test_replayed_targets_are_counted(tmp_path: Path) -> None:
    listed = tmp_path / "targets"
    listed.write_text("7168\n7168\n1\n")
    from_file = rows(PAGES14, "--workload", "replay", "--from-file", listed)
    assert from_file == rows(PAGES14, "--workload", "replay", "-", stdin="7168\n7168\n1\n")
    assert from_file[1]["lookups"] == 3
    assert {"page": 13, "lookups": 2} in from_file[1]["touches"]  # type: ignore[operator]


def test_few_and_many_lookups_agree(tmp_path: Path) -> None:
    """Beyond 2,000 look-ups arrays do the work; in a disordered index never."""
    targets = "".join(f"{n}\n" for n in range(0, 7168, 3))
    for damaged in (False, True):
        copy = Path(shutil.copy(PAGES14, tmp_path))
        if damaged:
            set_entry(copy, 3000, 1, 1)
        whole = rows(copy, "--workload", "replay", "-", stdin=targets)
        lines = targets.splitlines(keepends=True)
        halves = [rows(copy, "--workload", "replay", "-", stdin="".join(part)) for part in (lines[:1200], lines[1200:])]
        for search in (0, 1):
            counted: dict[int, int] = {}
            for half in halves:
                for touch in half[search]["touches"]:  # type: ignore[attr-defined]
                    counted[touch["page"]] = counted.get(touch["page"], 0) + touch["lookups"]
            assert {t["page"]: t["lookups"] for t in whole[search]["touches"]} == counted  # type: ignore[attr-defined]


def test_growth_from_13_to_14_pages() -> None:
    got = [(r["search"], r["file_pages"], r["pages"], r["new"]) for r in rows("--grow")]
    assert got == [
        ("standard", 13, [0, 6, 9, 11, 12], got[0][3]),
        ("standard", 14, [0, 7, 10, 12, 13], [7, 10, 13]),
        ("warm", 13, [10, 11, 12], got[2][3]),
        ("warm", 14, [11, 12, 13], [13]),
    ]
    text = kidx("trace", "--grow").out.decode()
    assert "newly needed: 7, 10 and 13" in text and "KAFKA-6432" in text


def test_growth_of_a_file_and_of_any_shape() -> None:
    assert [r["file_pages"] for r in rows(PAGES14, "--grow")] == [13, 14, 13, 14]
    assert {r["entry_size"] for r in rows(TIMES, "--grow")} == {12}
    shaped = rows("--grow", "--entry-size", 12, "--pages", 100, "--page-size", 16384, "--search", "warm")
    assert [r["entries"] for r in shaped] == [100 * 16384 // 12, 101 * 16384 // 12]


def test_large_files_put_several_pages_in_a_mark(tmp_path: Path) -> None:
    large = tmp_path / PAGES14.name
    large.write_bytes(b"".join(n.to_bytes(4) + n.to_bytes(4) for n in range(1, 60_001)))
    text = kidx("trace", large, 60_000).out.decode()
    assert "each mark is 2 pages" in text and max(map(len, text.splitlines()[1:])) <= 110


def test_the_documented_fields_are_the_rows() -> None:
    assert ["schema", *documented_fields("trace", "kidx.trace.v1")] == list(rows(PAGES14, 5)[0])
    assert ["schema", *documented_fields("trace", "kidx.trace_growth.v1")] == list(rows("--grow")[0])


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "no file given"),
        ([PAGES14], "nothing to trace"),
        ([PAGES14, 5, "--workload", "all"], "replay"),
        ([PAGES14, "--workload", "replay"], "--from-file"),
        ([CLEAN / "txn-0" / "00000000000000000000.txnindex", 5], "no search"),
        (["--grow", "--entry-size", 4096, "--page-size", 512], "at least one entry"),
        ([PAGES14, "x"], "'x' is not an offset"),
    ],
)
def test_refusals(args: list[object], said: str) -> None:
    ran = kidx("trace", *args)
    assert ran.status in (2, 3) and said in ran.err.decode() and not ran.out


def test_an_index_without_entries(tmp_path: Path) -> None:
    empty = tmp_path / PAGES14.name
    empty.touch()
    assert kidx("trace", empty, 5).status == 0
    assert kidx("trace", empty, "--workload", "all").status == 2
