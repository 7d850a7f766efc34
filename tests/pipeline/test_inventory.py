"""What is found by listing, and what tells that it has changed."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kidx.checks.engine.options import Options
from kidx.pipeline.inventory import Place, discover, pack, place_of
from tests.pipeline.support import SET, writable


def test_units_are_directories_with_their_bytes(tmp_path: Path) -> None:
    found = discover([str(SET / "fleet")], Options())
    names = {os.path.basename(u.target.directory) for u in found.units}
    assert {"orders-0", "orders-1", "payments-0", "payments-1"} <= names and not found.unlisted
    files = [f for f in (SET / "fleet" / "broker-1" / "orders-0").iterdir() if f.suffix in (".index", ".log")]
    unit = next(u for u in found.units if u.target.directory.endswith("broker-1/orders-0"))
    assert unit.bytes >= sum(f.stat().st_size for f in files) and unit.files >= len(files)
    assert unit.replicas == 3


def test_a_mark_changes_with_the_files_the_log_dir_and_the_options(tmp_path: Path) -> None:
    root = writable(SET / "fleet" / "broker-1", tmp_path / "b")

    def marks(options: Options = Options()) -> dict[str, str]:  # noqa: B008
        return {os.path.basename(u.target.directory): u.mark for u in discover([str(root)], options).units}

    before = marks()
    assert marks() == before
    log = next((root / "orders-0").glob("*.log"))
    os.utime(log, ns=(1, 1))
    after = marks()
    assert {name for name in before if before[name] != after[name]} == {"orders-0"}
    assert set(marks(Options(live=True)).values()).isdisjoint(after.values())
    # Brokers write their checkpoints anew all the time; of partitions, only what checks ask of them counts.
    del after["b"]  # the log dir itself, whose files they are
    os.utime(root / "recovery-point-offset-checkpoint", ns=(1, 1))
    assert after.items() <= marks().items()
    (root / "cleaner-offset-checkpoint").write_text("0\n1\npayments 0 7\n")
    known = marks()
    assert {name for name in after if known[name] != after[name]} == {"payments-0"}
    mark = root / ".kafka_cleanshutdown"
    mark.unlink() if mark.exists() else mark.touch()
    assert set(marks().values()).isdisjoint(known.values())


def test_what_is_missing_is_a_unit_that_fails_later(tmp_path: Path) -> None:
    found = discover([str(tmp_path / "nothing" / "00000000000000000000.index")], Options())
    assert len(found.units) == 1 and found.units[0].bytes == 0


def test_a_place_needs_a_partition_name() -> None:
    assert place_of("/b/1/big.name-7-3") == Place("/b/1", "big.name-7", 3)
    assert place_of("s3://bucket/b1/t-0") == Place("s3://bucket/b1", "t", 0)
    assert place_of("/scratch/copies").topic is None


@given(st.lists(st.integers(0, 1000), max_size=60), st.integers(1, 2000))
def test_groups_hold_everything_and_are_even(costs: list[int], target: int) -> None:
    groups = pack(costs, target)
    assert len(groups) == len(costs)
    if costs:
        filled = [sum(c for c, g in zip(costs, groups, strict=True) if g == n) for n in range(max(groups) + 1)]
        assert max(filled) - min(filled) <= max(costs)
        assert max(groups) + 1 <= max(1, -(-sum(costs) // target))
