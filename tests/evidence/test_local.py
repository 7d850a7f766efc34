"""Evidence: read whoever may read, refuse the rest in a sentence, and leave no trace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kidx.errors import CannotRead, ChangedWhileRead, TooLarge
from kidx.evidence import file_size, from_bytes, list_directory, open_evidence, read_file

NOBODY = 65534
DATA = bytes(range(256)) * 40


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A directory that every user may enter (pytest's own tmp_path is its owner's alone)."""
    made = Path(tempfile.mkdtemp(prefix="kidx-test-"))
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


def as_ordinary_user(act: Callable[[], str]) -> str:
    """What `act` returns, or the CannotRead it raises, when someone runs it who may not override permissions."""
    if os.geteuid() != 0:
        return _sentence(act)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(send, _sentence(act).encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


def _sentence(act: Callable[[], str]) -> str:
    try:
        return act()
    except CannotRead as e:
        return str(e)


def _read(path: Path) -> str:
    with open_evidence(str(path)) as evidence:
        return f"{len(evidence.read_all())} bytes"


def _owned_by_ordinary_user(path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o444, 0o600])
def test_ones_own_file_needs_no_right_to_write(open_dir: Path, mode: int) -> None:
    path = open_dir / "00000000000000000000.index"
    path.write_bytes(DATA)
    path.chmod(mode)
    _owned_by_ordinary_user(path)
    open_dir.chmod(0o555)
    assert as_ordinary_user(lambda: _read(path)) == f"{len(DATA)} bytes"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a file of another user: run as root")
def test_another_users_file_needs_the_right_to_read_and_no_more(open_dir: Path) -> None:
    path = open_dir / "00000000000000000000.index"
    path.write_bytes(DATA)
    path.chmod(0o444)
    assert as_ordinary_user(lambda: _read(path)) == f"{len(DATA)} bytes"
    path.chmod(0o400)
    said = as_ordinary_user(lambda: _read(path))
    assert said.startswith(f"{path}: permission denied; kidx only needs to read it")


def test_an_unreadable_file_of_ones_own_is_said(open_dir: Path) -> None:
    path = open_dir / "x.index"
    path.write_bytes(DATA)
    path.chmod(0)
    _owned_by_ordinary_user(path)
    assert "permission denied" in as_ordinary_user(lambda: _read(path))


def test_an_unreadable_directory_is_said(open_dir: Path) -> None:
    closed = open_dir / "orders-0"
    closed.mkdir()
    closed.chmod(0)
    _owned_by_ordinary_user(closed)
    assert "permission denied" in as_ordinary_user(lambda: str(list_directory(str(closed))))
    closed.chmod(0o755)


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.index")
    for path, said in (
        (tmp_path / "fifo.index", "it is a FIFO"),
        (tmp_path, "it is a directory"),
        (Path(os.devnull), "it is a character device"),
        (tmp_path / "missing.index", "no such file"),
        (tmp_path / "fifo.index" / "below", "not a directory"),
        (tmp_path / ("n" * 300), "the name is too long"),
    ):
        with pytest.raises(CannotRead, match=said) as raised:
            open_evidence(str(path))
        assert str(raised.value).startswith(f"{path}: ")
    assert not (tmp_path / "missing.index").exists()


def test_links_are_followed_and_circles_said(tmp_path: Path) -> None:
    (tmp_path / "real.index").write_bytes(DATA)
    (tmp_path / "link.index").symlink_to("real.index")
    (tmp_path / "circle.index").symlink_to("circle.index")
    (tmp_path / "dangling.index").symlink_to("nowhere")
    assert _read(tmp_path / "link.index") == f"{len(DATA)} bytes"
    with pytest.raises(CannotRead, match="too many symbolic links"):
        open_evidence(str(tmp_path / "circle.index"))
    with pytest.raises(CannotRead, match="no such file"):
        open_evidence(str(tmp_path / "dangling.index"))


@pytest.mark.parametrize("act", [open_evidence, list_directory, file_size, read_file])
def test_a_name_that_no_file_can_have_is_said(act: Callable[[str], object]) -> None:
    with pytest.raises(CannotRead, match="no file can have such a name"):
        act("a\0b")


def test_a_file_is_opened_read_only(tmp_path: Path) -> None:
    (tmp_path / "x.index").write_bytes(DATA)
    with open_evidence(str(tmp_path / "x.index")) as evidence, pytest.raises(OSError):
        os.write(evidence.fileno(), b"x")


def test_reading_keeps_the_access_time(tmp_path: Path) -> None:
    path = tmp_path / "x.index"
    path.write_bytes(DATA)
    os.utime(path, (1_000_000, 2_000_000))  # read before it was written: what relatime would update
    before = path.stat()
    _read(path)
    after = path.stat()
    assert (after.st_atime_ns, after.st_mtime_ns) == (before.st_atime_ns, before.st_mtime_ns)


def test_reads_stop_at_the_end_and_ignore_what_grew(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(DATA)
    with open_evidence(str(path)) as evidence:
        with path.open("ab") as f:
            f.write(b"more")
        assert evidence.size == len(DATA)
        assert evidence.read_all() == DATA
        assert evidence.read(len(DATA) - 3, 100) == DATA[-3:]
        assert evidence.read(len(DATA) + 7, 100) == b""
        assert evidence.read(0, -5) == b""
        buffer = memoryview(bytearray(10))
        assert evidence.read_into(len(DATA) - 4, buffer) == 4
        assert bytes(buffer[:4]) == DATA[-4:]
        assert b"".join(evidence.chunks(1000)) == DATA
        assert b"".join(evidence.chunks(1000, start=2500)) == DATA[2500:]
        assert evidence.changed()


def test_a_file_that_shrinks_is_no_corruption(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(DATA)
    with open_evidence(str(path)) as evidence:
        os.truncate(path, 100)
        with pytest.raises(ChangedWhileRead, match=f"had {len(DATA)} bytes and now ends at byte 100"):
            evidence.read_all()
        with pytest.raises(ChangedWhileRead):
            evidence.read_into(0, memoryview(bytearray(500)))
        with pytest.raises(ChangedWhileRead):
            list(evidence.chunks(64))
        assert evidence.read(0, 100) == DATA[:100]


def test_bytes_read_as_a_file_does() -> None:
    evidence = from_bytes(DATA)
    assert evidence.read(5, 7) == DATA[5:12]
    assert evidence.read(len(DATA) - 1, 7) == DATA[-1:]
    buffer = memoryview(bytearray(8))
    assert evidence.read_into(len(DATA) - 2, buffer) == 2
    assert not evidence.changed()
    assert evidence.fileno() == -1


def test_a_small_file_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(bytes(20))
    assert read_file(str(tmp_path / "checkpoint"), limit_bytes=20) == bytes(20)
    with pytest.raises(TooLarge, match="20 bytes; kidx reads at most 19"):
        read_file(str(tmp_path / "checkpoint"), limit_bytes=19)


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_read_to_its_end(name: str) -> None:
    code = f"from kidx.evidence import open_evidence; print(open_evidence({name!r}).size)"
    done = subprocess.run([sys.executable, "-c", code], input=DATA * 30, capture_output=True, check=True)
    assert int(done.stdout) == len(DATA) * 30


def test_a_closed_standard_input_is_said() -> None:
    code = (
        "from kidx.evidence import open_evidence\nfrom kidx.errors import CannotRead\n"
        "try: open_evidence('-')\nexcept CannotRead as e: print(e)"
    )
    done = subprocess.run(["sh", "-c", '"$0" -c "$1" <&-', sys.executable, code], capture_output=True, check=True)
    assert done.stdout.startswith(b"-: ")


def test_directories_are_listed_by_name(tmp_path: Path) -> None:
    for name in ("b", "a", "C"):
        (tmp_path / name).touch()
    assert [e.name for e in list_directory(str(tmp_path))] == ["C", "a", "b"]
    assert file_size(str(tmp_path / "a")) == 0
    with pytest.raises(CannotRead, match="not a directory"):
        list_directory(str(tmp_path / "a"))
