"""kidx recover: what comes from which replica, what is missing, and a log dir that needs no recovery."""

from __future__ import annotations

import errno
import os
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kidx.formats.producer_snapshot import parse_snapshot
from tests import damage
from tests.building import batch, message, record
from tests.recovery.replicas import TOPIC_ID, base_of, batches, log_of, tree, write_replica
from tests.support import KAFKA_SETS, Ran, kidx_here
from tests.surgery.support import intercept

FLEETS = [fixture_set / "fleet" for fixture_set in KAFKA_SETS if (fixture_set / "fleet").is_dir()]
OTHER_ID = "J8Upg3dv2B6XPr-UdZYVTw"


def recover(output: Path, *replicas: Path, **options: object) -> Ran:
    given_options = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    return kidx_here("recover", *replicas, "--output", output, *given_options, "--format", "jsonl")


def rows_of(ran: Ran, what: str) -> list[dict[str, Any]]:
    assert ran.status in (0, 1, 3), ran.err
    return [row for row in ran.rows if row.get("what") == what]


def missing(ran: Ran) -> list[tuple[int, int | None]]:
    return [(row["first_offset"], row["last_offset"]) for row in rows_of(ran, "missing")]


# ---- healthy replicas


@pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.parent.name)
def test_a_healthy_replica_comes_back_as_it_was(fleet: Path, tmp_path: Path) -> None:
    before = tree(fleet)
    ran = recover(tmp_path / "out", *sorted(fleet.iterdir()))
    assert ran.status == 0 and tree(fleet) == before
    for partition in (fleet / "broker-1").glob("orders-*"):
        made = tmp_path / "out" / partition.name
        logs = {path.name: path.read_bytes() for path in partition.glob("*.log")}
        assert {path.name: path.read_bytes() for path in made.glob("*.log") if path.stat().st_size} == {
            name: data for name, data in logs.items() if data
        }
        assert (made / "partition.metadata").exists() == (partition / "partition.metadata").exists()
    assert kidx_here("verify", "--deep", tmp_path / "out").status == 0


@pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.parent.name)
def test_a_broker_recovers_nothing(fleet: Path, tmp_path: Path) -> None:
    recover(tmp_path / "out", *sorted(fleet.iterdir()))
    ran = kidx_here("startup", tmp_path / "out", "--format", "jsonl", "--broker-version", fleet.parent.name[6:])
    done = {row["action"] for row in ran.rows if row["schema"] == "kidx.startup_action.v1"}
    assert (ran.status, done) == (0, {"delete"})  # of the mark of the clean stop


@pytest.mark.parametrize("fixture_set", KAFKA_SETS, ids=lambda path: path.name)
def test_transactions_and_producers_are_as_the_broker_wrote_them(fixture_set: Path, tmp_path: Path) -> None:
    source = fixture_set / "clean" / "txn-0"
    recover(tmp_path / "out", source)
    made = tmp_path / "out" / "txn-0"
    indexes = {path.name: path.read_bytes() for path in source.glob("*.txnindex") if path.stat().st_size}
    assert indexes and {path.name: path.read_bytes() for path in made.glob("*.txnindex")} == indexes
    compared = 0
    for path in source.glob("*.snapshot"):
        written = {p.producer_id: p for p in parse_snapshot(path.read_bytes()).producers}
        ours = {p.producer_id: p for p in parse_snapshot((made / path.name).read_bytes()).producers}
        assert written.items() <= ours.items()  # a broker forgets producers that have been silent for a day
        compared += len(written)
    assert compared


# ---- damaged replicas


def damaged(segments: list[list[bytes]], r: random.Random) -> list[bytes | None]:
    """The logs' bytes after a few acts of damage; None for a segment that is gone."""
    logs: list[bytearray | None] = [bytearray(b"".join(segment)) for segment in segments]
    for _ in range(r.randrange(4)):
        n = r.randrange(len(logs))
        log = logs[n]
        if not log:
            continue
        at = r.randrange(len(log))
        act = r.choice(["flip", "zero", "tear", "gone", "cut out", "insert", "length"])
        if act == "flip":
            log[at] ^= r.randrange(1, 256)
        elif act == "zero":
            log[at : at + 90] = bytes(len(log[at : at + 90]))
        elif act == "tear":
            del log[at:]
        elif act == "gone":
            logs[n] = None
        elif act == "cut out":
            del log[at : at + r.randrange(200)]
        elif act == "insert":
            log[at:at] = bytes(r.randrange(256) for _ in range(r.randrange(1, 40)))
        else:
            start = bytes(log).find(r.choice(segments[n]))
            if start >= 0:
                log[start + 11] ^= r.randrange(1, 256)
    return [None if log is None else bytes(log) for log in logs]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_batch_that_one_replica_still_has_comes_back(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Against a model that looks for each batch's bytes in the files."""
    r = random.Random(seed)
    home = tmp_path_factory.mktemp("replicas")
    sizes = [r.randrange(1, 12) for _ in range(r.randrange(1, 4))]
    whole = batches(sum(sizes), size=r.randrange(1, 4))
    segments = [whole[sum(sizes[:n]) : sum(sizes[: n + 1])] for n in range(len(sizes))]
    replicas, left = [], set()
    for n in range(r.randrange(1, 4)):
        directory = home / str(n) / "t-0"
        directory.mkdir(parents=True)
        for segment, data in zip(segments, damaged(segments, r), strict=True):
            if data is not None:
                (directory / f"{base_of(segment[0]):020d}.log").write_bytes(data)
                left |= {one for one in segment if one in data}
        replicas.append(directory)
    (replicas[0] / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    ran = recover(home / "out", *replicas)
    assert ran.status in (0, 1), ran.err
    made = log_of(home / "out" / "t-0")
    assert [one for one in whole if one not in made] == [one for one in whole if one not in left]
    strange = made
    for one in whole:
        strange = strange.replace(one, b"", 1)
    # A flipped bit of a base offset or epoch leaves the CRC right; where no other replica has the batch, it may stay.
    assert strange == b"" or len(strange) <= max(map(len, whole)) * 3
    end = max((base_of(one) for one in left), default=0)  # a tail that is cut between batches leaves no trace
    lost = [base_of(one) for one in whole if one not in left and base_of(one) < end]
    reported = missing(ran)
    if not strange:
        assert [o for o in lost if not any(a <= o and (b is None or o <= b) for a, b in reported)] == []
    shutil.rmtree(home)


def test_each_range_of_offsets_names_its_replica_and_each_gap_its_reason(tmp_path: Path) -> None:
    whole = batches(10)
    one = write_replica(tmp_path / "a" / "t-0", whole[:5], whole[5:])
    two = write_replica(tmp_path / "b" / "t-0", whole[:5], whole[5:])
    damage.flip_byte(one / f"{0:020d}.log", len(whole[0]) + 70)  # offsets 2 and 3
    for replica in (one, two):
        damage.flip_byte(replica / f"{10:020d}.log", len(whole[5]) + 70)  # 12 and 13
    ran = recover(tmp_path / "out", one, two)
    assert ran.status == 1
    taken = [(row["first_offset"], row["last_offset"], row["source"]) for row in rows_of(ran, "taken")]
    assert taken == [(0, 1, str(one)), (2, 11, str(two)), (14, 19, str(two))]
    (gap,) = rows_of(ran, "missing")
    assert (gap["first_offset"], gap["last_offset"]) == (12, 13)
    assert str(one) in gap["why"] and str(two) in gap["why"] and "CRC" in gap["why"]
    assert ran.rows[-1]["schema"] == "kidx.recovery_summary.v1" and ran.rows[-1]["missing_offsets"] == 2
    assert sorted(path.name for path in (tmp_path / "out/t-0").glob("*.log")) == [f"{0:020d}.log", f"{10:020d}.log"]


def test_the_end_that_the_high_watermark_names_is_missing(tmp_path: Path) -> None:
    replica = write_replica(tmp_path / "d" / "t-0", batches(3))
    (tmp_path / "d" / "replication-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    assert missing(recover(tmp_path / "out", replica)) == [(6, 8)]


def test_a_zero_tail_is_not_missing(tmp_path: Path) -> None:
    replica = write_replica(tmp_path / "t-0", batches(3))
    damage.zero_tail(replica / f"{0:020d}.log", 4096)
    ran = recover(tmp_path / "out", replica)
    assert (ran.status, missing(ran)) == (0, [])


def test_messages_of_old_formats_come_back(tmp_path: Path) -> None:
    old = [message(b"m%d" % n, offset=n, magic=n % 2) for n in range(8)]
    replicas = [write_replica(tmp_path / str(n) / "t-0", old) for n in range(2)]
    damage.flip_byte(replicas[0] / f"{0:020d}.log", len(b"".join(old[:3])) + 20)
    ran = recover(tmp_path / "out", *replicas)
    assert (ran.status, log_of(tmp_path / "out/t-0")) == (0, b"".join(old))


# ---- replicas that disagree


def test_the_highest_leader_epoch_wins(tmp_path: Path) -> None:
    common, mine = batches(5), batches(5, first=10, epoch=2)
    stale = batches(3, first=10, epoch=1, text=b"stale")
    one = write_replica(tmp_path / "a" / "t-0", [*common, *stale])
    two = write_replica(tmp_path / "b" / "t-0", [*common, *mine])
    ran = recover(tmp_path / "out", one, two)
    assert (ran.status, log_of(tmp_path / "out/t-0")) == (0, b"".join([*common, *mine]))
    assert [row["first_offset"] for row in rows_of(ran, "conflict")] == [10, 12, 14]
    assert (tmp_path / "out/t-0/leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n2 10\n"


def test_a_stale_tail_beyond_the_log_is_not_taken_and_status_1(tmp_path: Path) -> None:
    common = batches(5)
    one = write_replica(tmp_path / "a" / "t-0", [*common, *batches(6, first=10, epoch=1, text=b"stale")])
    two = write_replica(tmp_path / "b" / "t-0", [*common, *batches(2, first=10, epoch=2)])
    ran = recover(tmp_path / "out", one, two)
    assert ran.status == 1 and b"stale" not in log_of(tmp_path / "out/t-0")


def test_within_an_epoch_the_batch_of_most_replicas_is_taken(tmp_path: Path) -> None:
    whole = batches(6)
    other = [*whole[:3], *batches(1, first=6, text=b"other"), *whole[4:]]
    replicas = [write_replica(tmp_path / str(n) / "t-0", log) for n, log in enumerate([other, whole, whole])]
    ran = recover(tmp_path / "out", *replicas)
    assert (ran.status, log_of(tmp_path / "out/t-0")) == (1, b"".join(whole))
    (conflict,) = rows_of(ran, "conflict")
    assert "other bytes at the same offsets" in conflict["why"]


@pytest.mark.parametrize("field", ["base_offset", "leader_epoch"])
def test_a_wrong_field_that_no_crc_covers_is_not_believed(tmp_path: Path, field: str) -> None:
    whole = batches(40)
    one, two = (write_replica(tmp_path / name / "t-0", whole) for name in "ab")
    at = len(b"".join(whole[:20]))
    damage.set_header(one / f"{0:020d}.log", at, **{field: 1 << 20})
    (two / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    assert (recover(tmp_path / "out", one, two).status, log_of(tmp_path / "out/t-0")) == (0, b"".join(whole))


def test_an_epoch_of_one_batch_is_believed_between_its_neighbours(tmp_path: Path) -> None:
    whole = [*batches(2), *batches(1, first=4, epoch=3), *batches(2, first=6, epoch=5)]
    assert log_of_recovered(tmp_path, write_replica(tmp_path / "t-0", whole)) == b"".join(whole)
    assert (tmp_path / "out/t-0/leader-epoch-checkpoint").read_text() == "0\n3\n0 0\n3 4\n5 6\n"


def test_gaps_of_a_compacted_log_are_normal(tmp_path: Path) -> None:
    whole = [batch([record(1, 0, b"k%d" % n)], base_offset=3 * n, last_offset_delta=1, count=1) for n in range(9)]
    one, two = (write_replica(tmp_path / name / "t-0", whole[:4], whole[4:]) for name in "ab")
    damage.flip_byte(one / f"{0:020d}.log", 70)
    ran = recover(tmp_path / "out", one, two)
    assert (ran.status, log_of(tmp_path / "out/t-0")) == (0, b"".join(whole))


# ---- which directories are replicas


def test_a_stray_and_a_future_directory_are_replicas(tmp_path: Path) -> None:
    whole = batches(6)
    unique = "0123456789abcdef0123456789abcdef"
    write_replica(tmp_path / "d" / f"t-0.{unique}-stray", whole[:3], topic_id=None)
    write_replica(tmp_path / "d" / f"t-0.{unique}-future", whole[3:])
    (tmp_path / "d" / "t-0").mkdir()
    (tmp_path / "d" / "t-0" / f"{0:020d}.log").write_bytes(b"")
    ran = recover(tmp_path / "out", tmp_path / "d")
    assert (ran.status, log_of(tmp_path / "out/t-0")) == (0, b"".join(whole))


def test_a_deleted_partition_comes_back_only_if_it_is_named(tmp_path: Path) -> None:
    deleted = write_replica(tmp_path / "d" / "t-0.0123456789abcdef0123456789abcdef-delete", batches(3))
    write_replica(tmp_path / "d" / "u-0", batches(1))
    ran = recover(tmp_path / "out", tmp_path / "d")
    assert [row["source"] for row in rows_of(ran, "left_out")] == [str(deleted)]
    assert recover(tmp_path / "named", deleted).status == 0
    assert log_of(tmp_path / "named/t-0") == b"".join(batches(3))


def test_another_topic_of_the_same_name_is_left_out(tmp_path: Path) -> None:
    one = write_replica(tmp_path / "a" / "t-0", batches(5))
    two = write_replica(tmp_path / "b" / "t-0", batches(2, text=b"older"), topic_id=OTHER_ID)
    ran = recover(tmp_path / "out", two, one)
    assert [row["source"] for row in rows_of(ran, "left_out")] == [str(two)]
    assert log_of(tmp_path / "out/t-0") == log_of(one)


def test_segments_to_be_deleted_serve_where_nothing_else_has_the_offsets(tmp_path: Path) -> None:
    whole = batches(9)
    replica = write_replica(tmp_path / "t-0", whole[3:5])
    write_replica(replica, whole[:3], whole[5:], state=".deleted")  # retention took the first, a start the last ones
    assert log_of_recovered(tmp_path, replica) == b"".join(whole[3:])


def test_what_compaction_dropped_does_not_come_back_from_its_left_overs(tmp_path: Path) -> None:
    whole = [batch([record(0, 0, b"k%d" % n)], base_offset=n) for n in range(6)]
    replica = write_replica(tmp_path / "t-0", [whole[0], whole[3]], [whole[4], whole[5]])
    write_replica(replica, whole[:4], state=".deleted")
    assert log_of_recovered(tmp_path, replica) == b"".join([whole[0], *whole[3:]])


def log_of_recovered(home: Path, *replicas: Path) -> bytes:
    recover(home / "out", *replicas)
    return log_of(home / "out/t-0")


def test_records_below_the_log_start_stay_deleted(tmp_path: Path) -> None:
    whole = batches(9)
    replica = write_replica(tmp_path / "d" / "t-0", whole[:3], whole[3:6], whole[6:])
    (tmp_path / "d" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    damage.flip_byte(replica / f"{0:020d}.log", 70)
    ran = recover(tmp_path / "out", replica)
    assert (ran.status, log_of(tmp_path / "out/t-0")) == (0, b"".join(whole[3:]))
    assert (tmp_path / "out/log-start-offset-checkpoint").read_text() == "0\n1\nt 0 9\n"
    assert (tmp_path / "out/t-0/leader-epoch-checkpoint").read_text() == "0\n1\n0 9\n"
    assert sorted(int(path.stem) for path in (tmp_path / "out/t-0").glob("*.snapshot")) == [12, 18]


# ---- identity


def test_the_options_fit_the_result_into_another_cluster(tmp_path: Path) -> None:
    replica = write_replica(tmp_path / "t-0", batches(2))
    options: dict[str, object] = {"cluster_id": "MkU3OEVBNTcwNTJENDM2Qg", "node_id": 4, "topic_id": f"t={OTHER_ID}"}
    assert recover(tmp_path / "out", replica, **options).status == 0
    meta = (tmp_path / "out/meta.properties").read_text()
    assert meta == "cluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id=4\nversion=1\n"
    assert (tmp_path / "out/t-0/partition.metadata").read_text() == f"version: 0\ntopic_id: {OTHER_ID}"


def test_a_linked_partition_is_left_out_until_it_is_named(tmp_path: Path) -> None:
    write_replica(tmp_path / "elsewhere" / "u-0", batches(2))
    write_replica(tmp_path / "d" / "t-0", batches(2))
    (tmp_path / "d" / "u-0").symlink_to(tmp_path / "elsewhere" / "u-0")
    (row,) = rows_of(recover(tmp_path / "out", tmp_path / "d"), "left_out")
    assert row["source"] == str(tmp_path / "d/u-0") and "symbolic link" in row["why"]
    assert recover(tmp_path / "named", tmp_path / "d/u-0").status == 0
    assert log_of(tmp_path / "named/u-0") == b"".join(batches(2))


def test_names_that_no_topic_has_are_left_out(tmp_path: Path) -> None:
    write_replica(tmp_path / "d" / "t-0", batches(2))
    for name in ("two words-0", "line\n0 0-0", "t-99999999999", "a" * 250 + "-0"):
        write_replica(tmp_path / "d" / name, batches(1))
    (tmp_path / "d" / "meta.properties").write_text("version=1\ncluster.id=a\\nnode.id=7\nnode.id=1\n")
    ran = recover(tmp_path / "out", tmp_path / "d")
    assert (ran.status, len(rows_of(ran, "left_out"))) == (0, 4)
    assert (tmp_path / "out/recovery-point-offset-checkpoint").read_text() == "0\n1\nt 0 4\n"
    assert not (tmp_path / "out/meta.properties").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cluster_id": "two words"}, b"no cluster has such an id"),
        ({"topic_id": "t"}, b"NAME=ID is wanted"),
        ({"topic_id": "t=short"}, b"not an id as Kafka makes them"),
        ({"topic_id": f"other={OTHER_ID}"}, b"none of the replicas is of a topic other"),
    ],
)
def test_options_that_do_not_fit_are_usage_errors(tmp_path: Path, options: dict[str, object], said: bytes) -> None:
    ran = recover(tmp_path / "out", write_replica(tmp_path / "t-0", batches(2)), **options)
    assert ran.status == 2 and said in ran.err and not (tmp_path / "out").exists()


def test_replicas_of_two_clusters_need_a_choice(tmp_path: Path) -> None:
    for name, cluster in (("a", "MkU3OEVBNTcwNTJENDM2Qg"), ("b", "a2lkeC1maXh0dXJlcy0wMQ")):
        write_replica(tmp_path / name / "t-0", batches(2))
        (tmp_path / name / "meta.properties").write_text(f"version=1\ncluster.id={cluster}\nnode.id=1\n")
    ran = recover(tmp_path / "out", tmp_path / "a", tmp_path / "b")
    assert ran.status == 2 and b"--cluster-id" in ran.err


# ---- the output


def test_output_or_dry_run_is_wanted(tmp_path: Path) -> None:
    replica = write_replica(tmp_path / "t-0", batches(2))
    assert kidx_here("recover", replica).status == 2


def test_a_dry_run_reports_the_same_and_writes_nothing(tmp_path: Path) -> None:
    replica = write_replica(tmp_path / "t-0", batches(4))
    damage.flip_byte(replica / f"{0:020d}.log", 70)
    dry = kidx_here("recover", replica, "--dry-run", "--format", "jsonl")
    with_output = kidx_here("recover", replica, "--dry-run", "--output", tmp_path / "out", "--format", "jsonl")
    assert (with_output.status, with_output.out) == (dry.status, dry.out) and not (tmp_path / "out").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t-0"]
    done = recover(tmp_path / "out", replica)
    assert (dry.status, dry.rows[:-1]) == (done.status, done.rows[:-1])


@pytest.mark.parametrize("place", ["t-0", "t-0/inside", ".", "full"])
def test_an_output_among_evidence_or_that_is_not_empty_is_refused(tmp_path: Path, place: str) -> None:
    replica = write_replica(tmp_path / "t-0", batches(2))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    before = tree(tmp_path)
    ran = recover(tmp_path / place, replica)
    assert ran.status == 3 and tree(tmp_path) == before


def interrupted(home: Path, source: Path, monkeypatch: pytest.MonkeyPatch, after: int, error: BaseException) -> None:
    """Recover until the system call number `after` of those that write fails."""
    real, calls = os.write, iter(range(1 << 30))

    def write(fd: int, data: bytes) -> int:
        if next(calls) >= after:
            raise error
        return real(fd, data)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write)
        with suppress(KeyboardInterrupt):
            recover(home, source)


@pytest.mark.parametrize("after", [0, 1, 5, 14, 23])
def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    for n in range(3):
        write_replica(tmp_path / "d" / f"t-{n}", batches(3), batches(3, first=6))
    (tmp_path / "d" / "meta.properties").write_text("version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id=1\n")
    expected = recover(tmp_path / "whole", tmp_path / "d")
    interrupted(tmp_path / "out", tmp_path / "d", monkeypatch, after, KeyboardInterrupt())
    assert not (tmp_path / "out/meta.properties").exists()
    ran = recover(tmp_path / "out", tmp_path / "d")
    assert (ran.status, ran.rows[:-1]) == (expected.status, expected.rows[:-1])
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_whatever_call_fails_is_a_refusal_and_the_run_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(2):
        write_replica(tmp_path / "d" / f"t-{n}", batches(3), batches(3, first=6))
    recover(tmp_path / "whole", tmp_path / "d")
    failing = 0
    while True:
        out = tmp_path / f"out-{failing}"

        def act(number: int, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], at: int = failing) -> Any:
            if number == at:
                raise OSError(errno.EIO, "Input/output error")
            return function(*args, **kwargs)

        with monkeypatch.context() as patched:
            intercept(patched, act)
            ran = recover(out, tmp_path / "d")
        if ran.status == 0:
            break
        assert ran.status == 3 and b"Traceback" not in ran.err, (failing, ran.err)
        assert recover(out, tmp_path / "d").status == 0, failing
        assert tree(out) == tree(tmp_path / "whole"), failing
        failing += 7
    assert failing > 100


def test_a_full_disk_is_one_sentence_and_the_run_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_replica(tmp_path / "d" / "t-0", batches(3))
    real = os.write

    def write(fd: int, data: bytes) -> int:
        if os.readlink(f"/proc/self/fd/{fd}").endswith(".log"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write)
        ran = recover(tmp_path / "out", tmp_path / "d")
    assert ran.status == 3 and b"no space left on the device" in ran.err
    assert recover(tmp_path / "out", tmp_path / "d").status == 0
    assert log_of(tmp_path / "out/t-0") == b"".join(batches(3))


def test_another_plan_in_the_same_output_is_refused(tmp_path: Path) -> None:
    replica = write_replica(tmp_path / "a" / "t-0", batches(3))
    other = write_replica(tmp_path / "b" / "t-0", batches(4))
    assert recover(tmp_path / "out", replica).status == 0
    assert recover(tmp_path / "out", replica).status == 0  # nothing is left to do
    ran = recover(tmp_path / "out", other)
    assert ran.status == 3 and b"other replicas" in ran.err


def test_a_log_that_cannot_be_read_is_status_3_and_the_others_serve(tmp_path: Path) -> None:
    whole = batches(6)
    one = write_replica(tmp_path / "a" / "t-0", whole[:3], whole[3:])
    two = write_replica(tmp_path / "b" / "t-0", whole[:3])
    log = one / f"{0:020d}.log"
    log.unlink()
    log.symlink_to(tmp_path / "nowhere")
    ran = recover(tmp_path / "out", one, two)
    assert (ran.status, log_of(tmp_path / "out/t-0")) == (3, b"".join(whole))


def test_no_replica_is_a_clear_sentence(tmp_path: Path) -> None:
    ran = recover(tmp_path / "out", tmp_path)
    assert ran.status == 3 and b"no directory of a partition" in ran.err
    assert recover(tmp_path / "out", tmp_path / "nothing").status == 3


def test_the_screen_begins_with_the_partitions_and_ends_with_the_verdict(tmp_path: Path) -> None:
    replica = write_replica(tmp_path / "t-0", batches(4))
    damage.flip_byte(replica / f"{0:020d}.log", len(batches(1)[0]) + 70)
    out = kidx_here("recover", replica, "--output", tmp_path / "out").out.decode().splitlines()
    assert out[0] == "t-0" and out[1].startswith("  taken     0 to 1 from ")
    assert "1 range" in out[-2] and out[-1].endswith(f"kidx startup {tmp_path / 'out'}")
    assert TOPIC_ID in (tmp_path / "out/t-0/partition.metadata").read_text()
