"""After an unclean stop: what recovery would write again is answered, though no file holds it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kidx.rocketmq.key_lookup import find_key
from kidx.rocketmq.queues import ConsumeQueue
from kidx.rocketmq.time_search import LOWER, Search
from tests.rocketmq.cases import SETS, case_named, lay_out, name_of, opened, rows

PLAINS = [fixtures / "plain" for fixtures in SETS]


@pytest.mark.parametrize("case", PLAINS, ids=name_of)
def test_lost_queues_and_index_come_back_from_the_commit_log(case: Path, tmp_path: Path) -> None:
    whole, lost = lay_out(case, tmp_path / "whole"), lay_out(case, tmp_path / "lost")
    shutil.rmtree(lost / "consumequeue")
    shutil.rmtree(lost / "index")
    (lost / "checkpoint").write_bytes(bytes(4096))
    (lost / "abort").touch()
    kept, rebuilt = opened(whole), opened(lost)
    rebuilt.version = kept.version
    assert rebuilt.end == kept.end
    for name in kept.names():
        one, other = kept.queue(*name), rebuilt.queue(*name)
        assert isinstance(one, ConsumeQueue) and isinstance(other, ConsumeQueue)
        assert (one.min_offset, one.max_offset) == (other.min_offset, other.max_offset)
        for offset in range(one.min_offset, one.max_offset):
            assert one.unit(*_place(one, offset)) == other.unit(*_place(other, offset))
    for row in rows(case / "key_lookup.tsv"):
        asked = row["topic"], row["key"], int(row["max"]), int(row["begin"]), int(row["end"])
        assert find_key(rebuilt, *asked) == find_key(kept, *asked)


def _place(queue: ConsumeQueue, offset: int):  # type: ignore[no-untyped-def]
    place = queue.unit_at(offset)
    assert place is not None
    return place


def test_files_that_recovery_makes_are_the_newest_for_the_classic_search(tmp_path: Path) -> None:
    case = case_named("rocketmq-4.9.8", "skew")
    store = lay_out(case, tmp_path)
    shutil.rmtree(store / "consumequeue")
    (store / "abort").touch()
    loaded = opened(store)
    queue = loaded.queue("Skew", 0)
    assert isinstance(queue, ConsumeQueue) and len(queue.files) > 1
    search = Search(queue, loaded.log, checks_end=False)
    assert search.classic(1, clamp=False) == 0
    assert {probe.file.base for probe in search.probes} == {0}


def test_a_clean_5x_store_dispatches_what_its_queues_lack(tmp_path: Path) -> None:
    case = case_named("rocketmq-5.5.1", "unclean_cq_behind")
    store = lay_out(case, tmp_path)
    (store / "abort").unlink()
    loaded = opened(store)
    queue = loaded.queue("Behind", 0)
    assert isinstance(queue, ConsumeQueue)
    search = Search(queue, loaded.log, checks_end=True)
    assert search.current(2**62, LOWER) == queue.max_offset
