"""What really comes into memory: residency and observed look-ups, on a file system that can evict."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from kidx.evidence import from_bytes, open_evidence
from kidx.pages.observation import CannotObserve, original, private_copy
from kidx.pages.residency import residency_of
from tests.support import FIXTURES

INDEX = FIXTURES / "kafka-4.3.1/clean/pages13-0/00000000000000000000.index"


@pytest.fixture
def on_disk(tmp_path: Path) -> Path:
    """A copy whose pages can be evicted; skips where the temporary directory is memory."""
    path = tmp_path / INDEX.name
    path.write_bytes(INDEX.read_bytes())
    with path.open("rb") as f:
        os.fsync(f.fileno())
    try:
        with open_evidence(str(path)) as evidence, original(evidence):
            pass
    except CannotObserve as e:
        pytest.skip(f"no eviction here: {e}")
    return path


def test_residency_counts_what_was_read_and_reads_nothing(on_disk: Path) -> None:
    with open_evidence(str(on_disk)) as evidence:
        os.posix_fadvise(evidence.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(evidence.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        assert residency_of(evidence) == (13, [], None)
        evidence.read(5 * 4096 + 7, 1)
        evidence.read(9 * 4096, 4097)
        assert residency_of(evidence) == (13, [5, 9, 10], None)
        assert residency_of(evidence).resident == [5, 9, 10]


def test_observed_are_the_pages_that_were_read(on_disk: Path) -> None:
    with open_evidence(str(on_disk)) as evidence, private_copy(evidence, str(on_disk.parents[1])) as specimen:
        for wanted in ([0], [12], [2, 3, 11], list(range(13))):
            seen = specimen.observe(lambda read, wanted=wanted: [read(page * 4096 + 9, 4) for page in wanted])
            assert (seen.pages, seen.faults, seen.why) == (wanted, len(wanted), None)
    assert [p.name for p in on_disk.parent.iterdir()] == [INDEX.name]


def test_a_copy_leaves_the_original_in_memory_and_the_original_is_evicted_only_by_name(on_disk: Path) -> None:
    with open_evidence(str(on_disk)) as evidence:
        evidence.read_all()
        before = residency_of(evidence).resident
        with private_copy(evidence, str(on_disk.parents[1])) as specimen:
            specimen.observe(lambda read: read(0, 1))
        assert residency_of(evidence).resident == before == list(range(13))
        with original(evidence) as specimen:
            assert specimen.observe(lambda read: read(4096, 1)).pages == [1]
        assert residency_of(evidence).resident == [1]


def test_what_the_system_hides_is_unknown(on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user's read-only file: mincore would say that everything is resident."""
    monkeypatch.setattr(fcntl, "fcntl", lambda fd, what: 0)  # opened without O_NOATIME, as for a stranger
    monkeypatch.setattr(os, "access", lambda *a, **k: False)
    with open_evidence(str(on_disk)) as evidence:
        pages, resident, why = residency_of(evidence)
    assert (pages, resident) == (13, None)
    assert why is not None
    assert "owner" in why


def test_no_pages_to_ask_for(tmp_path: Path) -> None:
    assert residency_of(from_bytes(b"x" * 5000)).resident is None
    (tmp_path / "e.index").write_bytes(b"")
    with open_evidence(str(tmp_path / "e.index")) as evidence:
        assert residency_of(evidence) == (0, [], None)
        with pytest.raises(CannotObserve, match="empty file"), original(evidence):
            pass


def test_memory_file_systems_are_named() -> None:
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK):
        pytest.skip("no writable /dev/shm here")
    with (
        open_evidence(str(INDEX)) as evidence,
        pytest.raises(CannotObserve, match="tmpfs keeps all pages"),
        private_copy(evidence, str(shm)),
    ):
        pass


def test_no_copy_is_put_among_evidence(on_disk: Path) -> None:
    with (
        open_evidence(str(on_disk)) as evidence,
        pytest.raises(CannotObserve, match="puts no copy among them"),
        private_copy(evidence, str(on_disk.parent)),
    ):
        pass
