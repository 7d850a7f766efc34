"""Stores of other versions: healthy ones have no findings, what is not read is named, answers are that version's."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from kidx.errors import CannotRead
from kidx.rocketmq.batch_queues import BatchConsumeQueue
from kidx.rocketmq.broker_version import CLASSIC
from kidx.rocketmq.config import read_config
from kidx.rocketmq.engine.store import Checked, check_store
from kidx.rocketmq.formats import INDEX_HEADER, UNIT
from kidx.rocketmq.open import layout_and_config, open_store
from kidx.rocketmq.pull import pull
from kidx.rocketmq.store import Store
from kidx.rocketmq.time_search import BatchSearch, Search
from tests.damage import flip_byte, overwrite, set_header
from tests.rocketmq.cases import rows
from tests.support import FIXTURES, kidx

HOME = FIXTURES / "rocketmq-versions"


def unpacked(name: str, into: Path) -> Path:
    """A store of an archive, laid out as it was."""
    with tarfile.open(HOME / f"{name}.tar.xz") as archive:
        archive.extractall(into, filter="data")
    return next(path for path in sorted(into.rglob("store")) if path.is_dir())


def check(store: Path, config: Path | None = None, commit_log: tuple[str, ...] = ()) -> Checked:
    return check_store(*layout_and_config(str(store), str(config) if config else None, commit_log))


def rules_of(checked: Checked) -> set[str]:
    """Rules of what is worse than a note; an unclean stop is none of these stores' fault."""
    assert not checked.unread
    return {f.rule for f in checked.findings if f.severity != "note"} - {"KXR401"}


def skipped(checked: Checked) -> set[str]:
    return {Path(one.what).name for one in checked.coverage.skipped}


@pytest.mark.parametrize(
    ("name", "not_read"),
    [
        ("4.5.2-kill", set()),
        ("4.7.1-levels", set()),
        ("5.3.1-kill", set()),
        ("5.3.1-rocks", {"consumequeue"}),
        ("5.4.0-dbl", {"consumequeue", "rocksdbstore"}),
        ("broker-5.3.1-store", {"compaction", "timerlog", "timerwheel"}),
    ],
)
def test_healthy_stores_have_no_findings_and_what_is_not_read_is_named(
    name: str, not_read: set[str], tmp_path: Path
) -> None:
    checked = check(unpacked(name, tmp_path))
    assert rules_of(checked) == set()
    assert skipped(checked) == not_read
    assert (checked.coverage.bytes_skipped > 0) == bool(not_read)


def test_used_slots_between_slots_and_entries_are_healthy_and_more_are_not(tmp_path: Path) -> None:
    store = unpacked("4.5.2-kill", tmp_path)  # counts every entry as a slot
    index = min((store / "index").iterdir())
    set_header(index, 0, INDEX_HEADER, used_slots=200)  # a broker that was upgraded while it filled the file
    assert rules_of(check(store)) == set()
    set_header(index, 0, INDEX_HEADER, used_slots=401)
    (found,) = [f for f in check(store).findings if f.rule == "KXR304"]
    assert (found.file, found.found[2]) == (str(index), 401)


def delayed(store: Path) -> Path:
    """A delay level's queue file with several units."""
    files = sorted((store / "consumequeue" / "SCHEDULE_TOPIC_XXXX").rglob("0*"))
    return max(files, key=lambda path: len(path.read_bytes().rstrip(b"\0")) if path.is_file() else 0)


@pytest.mark.parametrize("configured", [False, True], ids=["inferred", "config"])
def test_delay_levels_of_its_own(configured: bool, tmp_path: Path) -> None:
    store = unpacked("4.7.1-levels", tmp_path)
    config = store.parent / "c.conf" if configured else None
    assert rules_of(check(store, config)) == set()
    path = delayed(store)
    (time,) = (int.from_bytes(path.read_bytes()[12:20]),)
    set_header(path, 0, UNIT, tag_code=time + 1)
    (found,) = [f for f in check(store, config).findings if f.severity == "error"]
    assert (found.rule, found.file, found.slot, found.expected, found.found) == ("KXR124", str(path), 0, time, time + 1)


def test_other_delay_levels_than_the_configured_ones_are_errors(tmp_path: Path) -> None:
    store = unpacked("4.7.1-levels", tmp_path)
    config = tmp_path / "other.conf"
    config.write_text("messageDelayLevel=1s 2s 3s 4s\n")
    assert rules_of(check(store, config)) == {"KXR124"}


def test_a_commit_log_in_several_directories(tmp_path: Path) -> None:
    store = unpacked("5.3.1-multi", tmp_path)
    config = store.parent / "c.conf"
    with pytest.raises(CannotRead, match=r"d1.*does not exist; give --commit-log DIR"):
        check(store, config)
    directories = [str(store.parent / name) for name in ("d1", "d2", "d3")]
    config.write_text(f"storePathCommitLog={','.join(directories)}\n")
    by_config, by_option = check(store, config), check(store, commit_log=tuple(directories))
    assert rules_of(by_config) == set()
    assert by_config.coverage == by_option.coverage
    assert by_config.coverage.batches > 100
    assert open_store(str(store), config=str(config)).end > 0


def test_a_commit_log_of_the_store_wins_over_the_configured_path(tmp_path: Path) -> None:
    store = unpacked("5.4.0-dbl", tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    config = tmp_path / "broker.conf"
    config.write_text(f"storePathCommitLog={elsewhere}\n")
    assert rules_of(check(store, config)) == set()


@pytest.mark.parametrize("how", ["gone", "empty", "zeros"])
def test_a_missing_commit_log_is_an_error(how: str, tmp_path: Path) -> None:
    store = unpacked("4.7.1-levels", tmp_path)
    units = check(store).coverage.entries
    if how == "zeros":
        for path in (store / "commitlog").iterdir():
            overwrite(path, 0, bytes(path.stat().st_size))
    else:
        shutil.rmtree(store / "commitlog")
        if how == "empty":
            (store / "commitlog").mkdir()
    checked = check(store)
    (found,) = [f for f in checked.findings if f.severity == "error"]
    assert (found.rule, found.file, found.found) == ("KXR210", f"{store}/commitlog", units)
    assert any("compared with nothing" in one.why for one in checked.coverage.skipped)


def test_a_store_without_messages_and_units_is_healthy(tmp_path: Path) -> None:
    store = unpacked("4.7.1-levels", tmp_path)
    for name in ("commitlog", "consumequeue", "index"):
        shutil.rmtree(store / name)
        (store / name).mkdir()
    assert rules_of(check(store)) == set()


def test_dledger_is_refused_in_one_sentence(tmp_path: Path) -> None:
    store = unpacked("dledger-4.7.1-store", tmp_path)
    for command in (["verify", store], ["stat", store], ["verify", "--config", store.parent / "broker.conf", tmp_path]):
        ran = kidx("rocketmq", *command)
        assert ran.status == 3
        assert ran.err.count(b"\n") == 1
        assert b"DLedger" in ran.err


def test_double_write_checks_the_files(tmp_path: Path) -> None:
    store = unpacked("5.4.0-dbl", tmp_path)
    path = store / "consumequeue" / "Orders" / "0" / f"{0:020d}"
    at = int.from_bytes(path.read_bytes()[40:48])
    set_header(path, 40, UNIT, commit_log_offset=at + 1)
    found = [f for f in check(store).findings if f.rule == "KXR122"]
    assert [(f.file, f.slot, f.found) for f in found] == [(str(path), 2, at + 1)]


def test_a_compaction_topic_is_named_where_the_answer_may_differ(tmp_path: Path) -> None:
    store = unpacked("broker-5.3.1-store", tmp_path)
    asked = kidx("rocketmq", "pull", store, "Comp", 0, "--offset", 0, "--memory", 1000)
    assert b"Comp is a compaction topic" in asked.err
    other = kidx("rocketmq", "pull", store, "Plain", 0, "--offset", 0, "--memory", 1000)
    assert (other.status, other.err) == (0, b"")


def answer(store: Store, verb: str, question: list[str]) -> str:
    topic, queue_id = question[0], int(question[1])
    replayed = store.replayed.get((topic, queue_id)) if store.layout.rocksdb else None
    if verb == "pull":
        memory = store.config.bytes_in_memory(int(question[4]))
        got = pull(store, topic, queue_id, int(question[2]), int(question[3]), memory)
        counts = got.next_offset, got.min_offset, got.max_offset, got.messages, got.bytes
        return "|".join([got.status, *map(str, counts), str(got.suggest_slave).lower()])
    time, boundary = int(question[2]), question[3].lower()
    if replayed:
        return str(replayed.by_time(time, boundary, store.version.number))
    queue = store.queue(topic, queue_id)
    if isinstance(queue, BatchConsumeQueue):
        return str(BatchSearch(queue).current(time, boundary))
    assert queue is not None and not store.layout.rocksdb
    search = Search(queue, store.log, checks_end=store.version.checks_log_end)
    if store.version.algorithm == CLASSIC:
        return str(search.classic(time, clamp=store.five))
    return str(search.current(time, boundary))


def stopped_before_the_queues(store: Path) -> None:
    """A clean stop, and each queue file lacks its last two units."""
    (store / "abort").unlink()
    for path in sorted((store / "consumequeue").rglob("0*")):
        if path.is_file() and (units := -(-len(path.read_bytes().rstrip(b"\0")) // UNIT.size)) > 3:
            overwrite(path, (units - 2) * UNIT.size, bytes(2 * UNIT.size))


def damaged_early(store: Path) -> None:
    """A flipped byte in each of the first four commit-log files: where recovery starts decides where the log ends."""
    for path in sorted((store / "commitlog").iterdir())[:4]:
        flip_byte(path, 40_000, 255)


MADE_FROM = {"5.3.1-behind": ("5.3.1-kill", stopped_before_the_queues), "5.3.1-early": ("5.3.1-kill", damaged_early)}
ANSWERS = list(rows(HOME / "answers.tsv"))


@pytest.mark.parametrize(("version", "name"), sorted({(row["version"], row["store"]) for row in ANSWERS}))
def test_answers_are_those_of_the_version_asked(version: str, name: str, tmp_path: Path) -> None:
    archive, damage = MADE_FROM.get(name, (name, None))
    root = unpacked(archive, tmp_path)
    if damage:
        damage(root)
    config = root.parent / "conf.properties"
    store = open_store(str(root), config=str(config) if config.exists() else None, version=version)
    asked = [row for row in ANSWERS if (row["version"], row["store"]) == (version, name)]
    wrong = [
        (row, got) for row in asked if (got := answer(store, row["verb"], row["question"].split("|"))) != row["answer"]
    ]
    assert not wrong, (len(wrong), len(asked), wrong[:3])


def test_delay_levels_as_a_broker_reads_them(tmp_path: Path) -> None:
    config = tmp_path / "broker.conf"
    config.write_text("messageDelayLevel=10s 2m 1h 3d\n")
    assert read_config(str(config)).delay_levels_ms == (10_000, 120_000, 3_600_000, 259_200_000)


def test_deep_directories_and_links_in_a_store_are_counted_and_not_followed(tmp_path: Path) -> None:
    store = unpacked("4.7.1-levels", tmp_path)
    deep = store / "notes"
    deep.mkdir()
    (deep / "link").symlink_to("/")
    (deep / "text").write_bytes(bytes(100))
    inside = os.open(deep, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=inside)
        outside, inside = inside, os.open("d", os.O_RDONLY, dir_fd=inside)
        os.close(outside)
    os.close(inside)
    (found,) = check(store).coverage.skipped
    subprocess.run(["rm", "-rf", deep], check=True)  # deeper than shutil.rmtree can go
    assert (Path(found.what).name, found.why) == ("notes", "not a part of a store that kidx knows")
