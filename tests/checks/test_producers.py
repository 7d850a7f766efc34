"""Producers: snapshots against the log, whichever field is wrong, and sequences that break; and no false alarm.

The model is ProducerStateManager written down plainly: one state a producer, changed batch by batch.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from struct import pack
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.options import QUICK
from kidx.checks.engine.producer_history import ProducerHistory
from kidx.checks.subjects.partitions import CheckedSegments
from kidx.checks.subjects.producers import NamedProducers, Producers
from kidx.findings import NOTE, WARNING
from kidx.formats.batches import HEADER_BYTES
from kidx.formats.producer_snapshot import ProducerState, parse_snapshot, snapshot_bytes
from kidx.segments.windows import Window
from tests import damage
from tests.building import batch, record
from tests.checks.conftest import check, grave, rules
from tests.checks.test_log_damage import batches, header
from tests.support import KAFKA_SETS

Copy = Callable[[str], Path]
SNAPSHOTS = [
    pytest.param(path, id="/".join(path.relative_to(root.parent).parts[0::2])[-60:])
    for root in KAFKA_SETS
    for topic in ("plain-0", "txn-0", "logappend-0")
    for path in sorted((root / "clean" / topic).glob("*.snapshot"))
    if parse_snapshot(path.read_bytes()).producers
]
SEQUENCES = 1 << 31


@pytest.mark.parametrize("path", SNAPSHOTS)
def test_each_field_of_each_snapshot_is_held_against_the_log(path: Path, tmp_path: Path) -> None:
    partition = Path(shutil.copytree(path.parent, tmp_path / path.parent.name))
    producers = parse_snapshot(path.read_bytes()).producers
    slot = len(producers) // 2
    for field in ProducerState._fields:
        changed = list(producers)
        changed[slot] = changed[slot]._replace(**{field: getattr(changed[slot], field) + 1})
        (partition / path.name).write_bytes(snapshot_bytes(changed))
        found = grave(check(partition))
        assert {(f.rule, Path(f.file).name) for f in found} == {("KX407", path.name)}, field
        assert slot in {f.slot for f in found}, field


def test_what_a_broker_may_forget_is_no_contradiction(copy: Copy) -> None:
    """A producer that expired is missing; one that came back has no coordinator, and no batch before its marker."""
    partition = copy("clean/txn-0")
    snapshot = sorted(partition.glob("*.snapshot"))[0]
    producers = parse_snapshot(snapshot.read_bytes()).producers
    closed = [p for p in producers if p.current_txn_first_offset < 0]
    snapshot.write_bytes(snapshot_bytes([p for p in producers if p != closed[0]]))
    assert grave(check(partition)) == []
    forgot = [p._replace(coordinator_epoch=-1) if p.last_offset >= 0 else p for p in producers]
    snapshot.write_bytes(snapshot_bytes(forgot))
    assert grave(check(partition)) == []
    snapshot.write_bytes(snapshot_bytes(closed))  # an open transaction keeps its producer
    assert rules(grave(check(partition))) == {"KX407"}


def test_a_snapshot_of_what_lies_before_the_log_is_held_against_the_one_before(copy: Copy) -> None:
    """Where the log was trimmed, a silent producer's state comes from snapshot to snapshot."""
    partition = copy("clean/txn-0")
    logs, snapshots = sorted(partition.glob("*.log")), sorted(partition.glob("*.snapshot"))
    assert len(logs) == len(snapshots) > 1
    for file in partition.glob(f"{logs[0].stem}.*"):
        file.unlink()
    silent = ProducerState(77, 3, 9, int(logs[1].stem) - 5, 2, 1_700_000_000_000, -1, -1)
    for path in snapshots:
        path.write_bytes(snapshot_bytes([*parse_snapshot(path.read_bytes()).producers, silent]))
    assert grave(check(partition)) == []
    for field in ("producer_epoch", "last_sequence", "last_offset", "offset_delta", "timestamp", "coordinator_epoch"):
        changed = silent._replace(**{field: getattr(silent, field) + 1})
        snapshots[1].write_bytes(snapshot_bytes([*parse_snapshot(snapshots[1].read_bytes()).producers[:-1], changed]))
        assert {(f.rule, f.file) for f in grave(check(partition))} == {("KX407", str(snapshots[1]))}, field


def test_a_compacted_log_still_says_something_of_its_snapshots(tmp_path: Path) -> None:
    source = KAFKA_SETS[0] / "compaction/after/compacted-0"
    if not source.is_dir():
        pytest.skip("this set has no compacted partition")
    partition = Path(shutil.copytree(source, tmp_path / source.name))
    snapshot = sorted(partition.glob("*.snapshot"))[-1]
    producers = parse_snapshot(snapshot.read_bytes()).producers
    for field in ("producer_epoch", "last_sequence", "offset_delta", "last_offset"):
        changed = [p._replace(**{field: getattr(p, field) - 1}) for p in producers]
        snapshot.write_bytes(snapshot_bytes([p._replace(producer_epoch=max(p.producer_epoch, 0)) for p in changed]))
        if changed != parse_snapshot(snapshot.read_bytes()).producers:
            continue
        assert rules(grave(check(partition))) == {"KX407"}, field


BREAKS = {
    "a gap": ({"base_sequence": 7}, WARNING),
    "back": ({"base_sequence": -7}, WARNING),
    "an older epoch": ({"producer_epoch": -1}, WARNING),
    "a new epoch that does not begin with 0": ({"producer_epoch": 1}, NOTE),
}


@pytest.mark.parametrize(("change", "severity"), BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize("alone", [True, False], ids=["file", "directory"])
def test_a_batch_that_does_not_follow(copy: Copy, change: dict[str, int], severity: str, alone: bool) -> None:
    partition = copy("clean/plain-0")
    for snapshot in partition.glob("*.snapshot"):
        snapshot.unlink()
    log = sorted(partition.glob("*.log"))[0]
    every = batches(log)
    for one in every:  # so that there is an epoch before
        header(producer_epoch=5)(log, one)
    victim = every[len(every) // 2]
    fields = {"base_sequence": victim.base_sequence, "producer_epoch": 5}
    header(**{name: fields[name] + by for name, by in change.items()})(log, victim)
    found = [f for f in check(log if alone else partition).findings if f.rule == "KX408" and f.file == str(log)]
    assert (found[0].severity, found[0].byte_start) == (severity, victim.position)
    assert len(found) <= (1 if "base_sequence" in change else 2)


def test_numbers_that_begin_again_are_a_note(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    for snapshot in partition.glob("*.snapshot"):
        snapshot.unlink()
    log = sorted(partition.glob("*.log"))[0]
    every = batches(log)
    turn = every[len(every) // 2]
    for one in every[len(every) // 2 :]:
        header(base_sequence=one.base_sequence - turn.base_sequence)(log, one)
    found = [f for f in check(log).findings if f.rule == "KX408"]
    assert [(f.severity, f.byte_start) for f in found] == [(NOTE, turn.position)]


def test_what_is_missing_with_its_offsets_is_a_gap_and_no_broken_sequence(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    log = sorted(partition.glob("*.log"))[0]
    victim = batches(log)[2]
    data = log.read_bytes()
    log.write_bytes(data[: victim.position] + data[victim.next_position :])
    assert "KX408" not in rules(check(partition).findings)
    log.write_bytes(data)
    damage.flip_byte(log, victim.next_position - 1)
    assert rules(grave(check(partition))) == {"KX301"}
    assert grave(check(partition, level=QUICK)) == []


# -- against the model

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["data", "data", "data", "txn", "commit", "abort", "bump", "plain", "roll", "snapshot", "forget"]
        ),
        st.integers(0, 2),  # the producer
        st.integers(1, 4),  # records
    ),
    max_size=40,
)


class Model:
    """A partition that a leader writes: its log's segments, and snapshots as ProducerStateManager takes them."""

    def __init__(self, first_sequence: int) -> None:
        self.end, self.clock = 0, 1_700_000_000_000
        self.segments: dict[int, bytes] = {0: b""}
        self.snapshots: dict[int, list[ProducerState]] = {}
        self.states: dict[int, ProducerState] = {}
        self.epochs = dict.fromkeys(range(3), 0)
        self.sequences = dict.fromkeys(range(3), first_sequence)

    def append(self, count: int, **fields: Any) -> int:
        base = self.end
        self.segments[max(self.segments)] += batch(
            fields.pop("records", None) or [record(i) for i in range(count)],
            base_offset=base,
            base_timestamp=self.clock,
            **fields,
        )
        self.end += count
        return base

    def data(self, producer: int, count: int, *, transactional: bool) -> None:
        old = self.states.get(producer)
        first_open = old.current_txn_first_offset if old else -1
        if first_open >= 0:
            transactional = True  # a broker takes no other
        epoch, sequence = self.epochs[producer], self.sequences[producer]
        base = self.append(count, producer=(producer, epoch, sequence), attributes=0x10 if transactional else 0)
        self.sequences[producer] = (sequence + count) % SEQUENCES
        self.states[producer] = ProducerState(
            producer,
            epoch,
            (sequence + count - 1) % SEQUENCES,
            self.end - 1,
            count - 1,
            self.clock,
            old.coordinator_epoch if old else -1,
            first_open if first_open >= 0 or not transactional else base,
        )

    def marker(self, producer: int, kind: int, coordinator_epoch: int) -> None:
        key, value = pack(">hh", 0, kind), pack(">hi", 0, coordinator_epoch)
        fields = {"producer": (producer, self.epochs[producer], -1), "attributes": 0x30}
        self.append(1, records=[record(0, key=key, value=value)], **fields)
        old = self.states.get(producer)
        same = old is not None and old.producer_epoch == self.epochs[producer]
        last = (old.last_sequence, old.last_offset, old.offset_delta) if old is not None and same else (-1, -1, 0)
        self.states[producer] = ProducerState(producer, self.epochs[producer], *last, self.clock, coordinator_epoch, -1)

    def play(self, what: str, producer: int, count: int) -> None:
        self.clock += 1000
        if what in ("data", "txn"):
            self.data(producer, count, transactional=what == "txn")
        elif what in ("commit", "abort"):
            self.marker(producer, int(what == "commit"), count)
        elif what == "bump" and producer in self.states:  # a coordinator fences, with a marker of the next epoch
            self.epochs[producer] += 1
            self.sequences[producer] = 0
            self.marker(producer, 0, count)
        elif what == "plain":
            self.append(count)
        elif what == "roll" and self.end > max(self.segments):
            self.segments[self.end] = b""
            self.snapshots[self.end] = list(self.states.values())
        elif what == "snapshot" and self.end:
            self.snapshots[self.end] = list(self.states.values())
        elif what == "forget" and producer in self.states and self.states[producer].current_txn_first_offset < 0:
            del self.states[producer]

    def write(self, directory: Path) -> None:
        for base, data in self.segments.items():
            (directory / f"{base:020d}.log").write_bytes(data)
        for at, states in self.snapshots.items():
            (directory / f"{at:020d}.snapshot").write_bytes(snapshot_bytes(states))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EVENTS, st.sampled_from([0, SEQUENCES - 5]), st.randoms(use_true_random=False))
def test_what_the_model_writes_is_healthy_and_what_is_changed_in_it_is_not(
    tmp_path_factory: pytest.TempPathFactory, events: list[Any], first_sequence: int, chance: Any
) -> None:
    model = Model(first_sequence)
    for event in events:
        model.play(*event)
    directory = tmp_path_factory.mktemp("model") / "topic-0"
    directory.mkdir()
    model.write(directory)
    assert [f for f in check(directory).findings if f.rule not in ("KX403", "KX401")] == []
    at = [offset for offset, states in model.snapshots.items() if states]
    if not at:
        return
    offset = chance.choice(at)
    states = list(model.snapshots[offset])
    slot = chance.randrange(len(states))
    field = chance.choice(["producer_epoch", "last_sequence", "last_offset", "offset_delta", "timestamp"])
    value = getattr(states[slot], field) + 1
    states[slot] = states[slot]._replace(**{field: value % SEQUENCES if field == "last_sequence" else value})
    (directory / f"{offset:020d}.snapshot").write_bytes(snapshot_bytes(states))
    assert rules(grave(check(directory))) - {"KX401"} == {"KX407"}
    shutil.rmtree(directory)


ROWS = st.lists(
    st.tuples(
        st.integers(-1, 2), st.integers(0, 2), st.sampled_from([-1, 0, 1, 2, 3, SEQUENCES - 1]), st.integers(1, 2)
    ),
    min_size=1,
    max_size=30,
)


def headers_of(rows: list[Any]) -> tuple[list[bytes], int]:
    """The headers of batches by (producer, epoch, sequence, records), and the offset after the last one."""
    offset, headers = 0, []
    for producer, epoch, sequence, count in rows:
        one = batch([record(i) for i in range(count)], base_offset=offset, producer=(producer, epoch, sequence))
        headers.append(one[:HEADER_BYTES])
        offset += count
    return headers, offset


def take(producers: Producers, headers: list[bytes], low: int, high: int) -> None:
    """Let the batches from `low` to before `high` go by as one window."""
    if low < high:
        window = Window(low, high, list(range(low, high)), b"".join(headers[low:high]), [], None)
        producers.take(window, window.column("magic") == 2, [])


@given(ROWS, st.integers(0, 29), st.integers(0, 40))
def test_batches_one_by_one_and_together_show_the_same(rows: list[Any], cut: int, snapshot: int) -> None:
    """Whatever they say, in one window or two."""
    headers, _ = headers_of(rows)
    middle, end, states = min(cut, len(rows)), len(rows), []
    for borders in ([0, middle, end], range(end + 1)):
        seen = Producers([NamedProducers(snapshot, frozenset([0, 2]))])
        for low, high in itertools.pairwise(borders):
            take(seen, headers, low, high)
        states.append((seen.data, seen.first, sorted(seen.breaks), seen.at))
    assert states[0] == states[1]


@given(ROWS, st.lists(st.integers(0, 29), max_size=3), st.integers(0, 40))
def test_ranges_side_by_side_show_what_one_does(rows: list[Any], cuts: list[int], snapshot: int) -> None:
    headers, end = headers_of(rows)
    named = [NamedProducers(snapshot, frozenset([0, 2]))]
    shown = []
    for borders in ([], sorted(cuts)):
        ranges = []
        for low, high in itertools.pairwise([0, *(min(b, len(rows)) for b in borders), len(rows)]):
            ranges.append(Producers(named))
            take(ranges[-1], headers, low, high)
        log = SimpleNamespace(producers=ranges, as_written=True, gaps=[], last_offset=end - 1)
        history = ProducerHistory(named, frozenset([0, 2]))
        history.take("x", 0, log, compacted=False)  # type: ignore[arg-type]
        findings = findings_about(CheckedSegments([], compacted=False, sequence_breaks=history.breaks))
        shown.append((sorted(findings, key=lambda f: f.byte_start or 0), history.known))  # type: ignore[union-attr]
    assert shown[0] == shown[1]


def test_a_snapshot_at_the_beginning_of_a_trimmed_log_is_held_against_what_follows(copy: Copy) -> None:
    partition = copy("clean/txn-0")
    first = min(partition.glob("*.log"))
    for file in partition.glob(f"{first.stem}.*"):
        file.unlink()
    log = min(partition.glob("*.log"))
    path = log.with_suffix(".snapshot")
    following = {b.producer_id: b for b in reversed(batches(log)) if not b.control}
    producers = parse_snapshot(path.read_bytes()).producers
    slot = next(i for i, p in enumerate(producers) if p.producer_id in following and p.last_sequence >= 0)
    assert grave(check(partition)) == []
    for field, by in (("last_sequence", 1), ("last_sequence", -1), ("producer_epoch", 1)):
        value = getattr(producers[slot], field) + by
        changed = [*producers[:slot], producers[slot]._replace(**{field: value}), *producers[slot + 1 :]]
        path.write_bytes(snapshot_bytes(changed))
        found = grave(check(partition))
        assert [(f.rule, f.slot) for f in found if f.file == str(path)] == [("KX407", slot)], (field, by)


def test_a_snapshot_asked_for_alone_says_that_no_log_was_looked_at(copy: Copy) -> None:
    snapshot = max(copy("clean/txn-0").glob("*.snapshot"))
    checked = check(snapshot)
    assert checked.findings == []
    assert ["not held against the log" in skipped.why for skipped in checked.coverage.skipped] == [True]
