"""A few hundred seeds of the hunt, the same ones every time; and that the hunt itself would notice."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from kidx.evidence import from_bytes
from kidx.formats.checksums import crc_holds
from kidx.formats.producer_snapshot import parse_snapshot
from kidx.logdir.names import INDEX_OF_KIND, LOG, PRODUCER_SNAPSHOT
from kidx.segments.walk import walk
from tests.fuzz import __main__ as command
from tests.fuzz import hunt as hunting
from tests.fuzz.claims import covered_change, honest, well_behaved
from tests.fuzz.corpus import Case, kafka_cases, kind_of
from tests.fuzz.hunt import Hunt, TookTooLong, watched
from tests.fuzz.mutate import ANYWHERE, IN_INDEXES, IN_LOGS, MOST_BYTES, Mutated, Setting, mutate, repair
from tests.support import Ran, kidx_here

SEEDS = 400


@pytest.fixture(scope="module")
def hunt(tmp_path_factory: pytest.TempPathFactory) -> Hunt:
    return Hunt(tmp_path_factory.mktemp("hunt"))


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def case() -> Case:
    return next(case for case in kafka_cases() if "4.3.1_clean_txn-0" in case.name)


@pytest.mark.parametrize("start", range(0, SEEDS, 100))
def test_no_claim_is_broken(hunt: Hunt, start: int) -> None:
    assert [find for seed in range(start, start + 100) for find in hunt.run(seed)] == []


def test_a_seed_alone_decides_and_leaves_nothing_behind(hunt: Hunt, tmp_path: Path) -> None:
    other = Hunt(tmp_path)
    for seed in range(50):
        mine, theirs = hunt.shot(seed), other.shot(seed)
        assert (mine.case.name, mine.name, mine.mutated) == (theirs.case.name, theirs.name, theirs.mutated)
        path = other.lay_down(theirs)
        assert path.read_bytes() == theirs.mutated.data
        list(other.run(seed))
        assert path.read_bytes() == theirs.case.files[theirs.name]


def test_every_case_is_healthy_before(hunt: Hunt) -> None:
    for case in kafka_cases():
        if case.name.startswith("kafka-4.3.1"):
            ran = kidx_here("verify", "--jobs", 1, case.lay_out(hunt.root / "healthy"))
            assert ran.status == 0, (case.name, ran.out.decode())


@pytest.mark.parametrize("verb", {v.__name__: v for v in (*ANYWHERE, *IN_LOGS, *IN_INDEXES)}.values())
def test_verbs_take_any_bytes(verb, case: Case) -> None:  # type: ignore[no-untyped-def]
    chance = random.Random(1)
    log = next(data for name, data in case.files.items() if kind_of(name) == LOG)
    setting = Setting(next(iter(INDEX_OF_KIND)), (b"donor",))
    changed = 0
    for data in (b"", b"\0", bytes(7), log) * 20:
        after = bytearray(data)
        verb(after, chance, setting)
        changed += bytes(after) != data
    assert changed > 5


def test_repaired_checksums_hold(case: Case) -> None:
    name, log = next((name, data) for name, data in case.files.items() if kind_of(name) == LOG)
    data = bytearray(log)
    data[80] ^= 1
    repair(data, kind_of(name))
    assert all(crc_holds(b, data[b.position : b.next_position]) for b in walk(from_bytes(bytes(data))))
    snapshot = bytearray(b"\0\1" + bytes(60))
    repair(snapshot, PRODUCER_SNAPSHOT)
    assert parse_snapshot(bytes(snapshot)).crc_ok


def test_a_mutated_file_has_a_bound() -> None:
    assert all(len(mutate(bytes(MOST_BYTES), LOG, random.Random(seed)).data) <= MOST_BYTES for seed in range(30))


@pytest.mark.parametrize(
    ("ran", "said"),
    [
        (Ran(70, b"", b"kidx: a bug in kidx itself"), "status 70"),
        (Ran(2, b"", b"kidx: no"), "status 2"),
        (Ran(1, b"x", b"Traceback (most recent call last)"), "on standard error"),
        (Ran(1, b"x", b"RuntimeWarning: overflow"), "on standard error"),
        (Ran(0, b"", b""), "nothing said"),
    ],
)
def test_misbehaviour_is_noticed(ran: Ran, said: str) -> None:
    (what,) = well_behaved(["verify"], ran)
    assert said in what


def test_a_clean_verdict_that_is_not_earned_is_noticed(case: Case, tmp_path: Path) -> None:
    home = case.lay_out(tmp_path)
    whole = kidx_here("verify", "--jobs", 1, "--format", "jsonl", home)
    *_, summary = whole.rows
    for name, data in case.files.items():
        if kind_of(name) in (LOG, PRODUCER_SNAPSHOT, *INDEX_OF_KIND):
            changed = data[:-1] + bytes([data[-1] ^ 1])
            mutated = Mutated(changed, ("flip_bit",), False)
            clean = Ran(0, json.dumps(summary).encode(), b"")
            (what,) = honest(case, name, mutated, case.files | {name: changed}, clean)
            assert f"byte {len(data) - 1} of {name}" in what
            assert covered_change(case.files, name, mutated._replace(repaired=True)) is None
    less = Ran(0, json.dumps({**summary, "bytes_checked": 1, "batches": 0}).encode(), b"")
    unchanged = Mutated(case.files[name], (), False)
    assert [what.split(" ")[2] for what in honest(case, name, unchanged, case.files, less)] == ["1", "0"]


def test_the_watchdog_ends_what_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object) -> Ran:
        while True:
            pass

    monkeypatch.setattr(hunting, "SECONDS_A_FILE", 0.05)
    monkeypatch.setattr(hunting, "kidx_here", hang)
    with pytest.raises(TookTooLong):
        watched(["verify"])


def test_a_record_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(command, "_EVERY", 5)
    monkeypatch.setattr(command.Hunt, "run", lambda _, seed: iter(seen.append(seed) or ()))
    record = tmp_path / "record.jsonl"
    assert command.hunt(tmp_path / "a", 0, 12, record) == 0
    assert command.hunt(tmp_path / "b", 0, 20, record) == 0
    assert seen == list(range(20))
    assert [json.loads(line)["done_to"] for line in record.read_text().splitlines()] == [5, 10, 12, 15, 20]
