"""Replacing a file: what is kept, what is refused, and that a refusal leaves nothing behind."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from kidx.errors import CannotRead, KidxError, Refused
from kidx.evidence import from_bytes, open_evidence
from kidx.surgery.journal import Entry, new_run, read_journal
from kidx.surgery.replace import carry_out, create_apart
from kidx.surgery.workplace import locked, workplace
from tests.surgery.support import INDEX, a_change, current, intercept, listing, running_broker

OLD, NEW = b"\0\0\0\1\0\0\0\7", b"\0\0\0\1\0\0\0\7\0\0\0\2\0\0\0\x08"
AS_ROOT = os.geteuid() == 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index in a partition of a log dir."""
    path = tmp_path / "logs" / "plain-0" / INDEX
    path.parent.mkdir(parents=True)
    path.write_bytes(OLD)
    return path


def replace(path: Path, before: bytes | None = OLD, after: bytes | None = NEW) -> str | None:
    return carry_out(a_change(path, before, after), new_run())


def refused(path: Path, *words: str, before: bytes | None = OLD, error: type[KidxError] = Refused) -> None:
    """Replacing is refused with these words in one sentence, and nothing is written."""
    there = listing(path.parent)
    names = sorted(path.parent.iterdir())
    with pytest.raises(error) as refusal:
        replace(path, before)
    for word in words:
        assert word in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert listing(path.parent) == there
    assert sorted(path.parent.iterdir()) == names


def journal_of(path: Path) -> list[Entry]:
    with open_evidence(str(path.parent / ".kidx/journal.jsonl")) as journal:
        return read_journal(journal, of_log_dir=False)


def test_backup_and_journal(path: Path) -> None:
    backup = replace(path)
    assert path.read_bytes() == NEW
    assert backup is not None and Path(backup).read_bytes() == OLD
    (entry,) = journal_of(path)
    assert (entry.command, entry.file, entry.undoes) == ("append", INDEX, None)
    assert entry.before is not None and entry.before.sha256 == hashlib.sha256(OLD).hexdigest()
    assert (entry.after_sha256, entry.after_size) == (hashlib.sha256(NEW).hexdigest(), len(NEW))
    assert sorted(f.name for f in path.parent.iterdir()) == [".kidx", INDEX]


def test_mode_is_kept(path: Path) -> None:
    path.chmod(0o640)
    replace(path)
    assert path.stat().st_mode & 0o7777 == 0o640


def test_user_attributes_are_kept(path: Path) -> None:
    try:
        os.setxattr(path, "user.kept", b"yes")
    except OSError as e:
        pytest.skip(f"this file system has no user attributes: {e.strerror}")
    replace(path)
    assert os.getxattr(path, "user.kept") == b"yes"


def test_an_access_list_is_kept(path: Path) -> None:
    entries = [(0x01, 6, -1), (0x02, 4, 1234), (0x04, 4, -1), (0x10, 4, -1), (0x20, 0, -1)]  # user 1234 may read
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", acl)
    except OSError as e:
        pytest.skip(f"this file system has no access lists: {e.strerror}")
    replace(path)
    assert os.getxattr(path, "system.posix_acl_access") == acl


def test_attributes_of_the_system_stay_with_the_old_file(path: Path) -> None:
    """Security labels and capabilities are for those who gave them to give again."""
    try:
        os.setxattr(path, "trusted.label", b"of the old file")
    except OSError as e:
        pytest.skip(f"no such attributes here: {e.strerror}")
    replace(path)
    assert "trusted.label" not in os.listxattr(path)


@pytest.mark.skipif(not AS_ROOT, reason="only root may give files away")
def test_owner_is_kept_and_the_workplace_is_the_brokers(path: Path) -> None:
    for owned in (path.parent, path):
        os.chown(owned, 1234, 2345)
    replace(path)
    for owned in (path, *path.parent.joinpath(".kidx").iterdir(), path.parent / ".kidx"):
        assert (owned.stat().st_uid, owned.stat().st_gid) == (1234, 2345), owned


@pytest.mark.skipif(not AS_ROOT, reason="only root may give files away")
def test_a_new_file_is_like_its_log(path: Path) -> None:
    log = path.with_suffix(".log")
    log.touch(mode=0o600)
    os.chown(log, 1234, 2345)
    new = path.with_suffix(".timeindex")
    carry_out(a_change(new, None, NEW), new_run(), like=str(log))
    assert (new.stat().st_uid, new.stat().st_gid, new.stat().st_mode & 0o777) == (1234, 2345, 0o600)


@pytest.mark.skipif(not AS_ROOT, reason="only root may become another user")
def test_another_users_file_is_refused(path: Path) -> None:
    os.chown(path.parent, 1234, 2345)
    path.parent.chmod(0o777)
    for above in path.parents:
        if above == Path("/tmp"):
            break
        above.chmod(0o777)
    program = f"""
import hashlib, json, os
from kidx.errors import Refused
from kidx.surgery.replace import carry_out
from tests.surgery.support import a_change
import kidx.surgery.broker
os.setgid(4321); os.setuid(4321)
try:
    carry_out(a_change({str(path)!r}, {OLD!r}, {NEW!r}), "run")
except Refused as e:
    print(e)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "must keep its owner" in done.stdout
    assert listing(path.parent) == {INDEX: OLD}


def test_symbolic_link(path: Path) -> None:
    link = path.with_suffix(".timeindex")
    link.symlink_to(path)
    refused(link, "a symbolic link", str(path))
    assert link.is_symlink()


def test_hard_link(path: Path) -> None:
    os.link(path, path.with_name("another-name"))
    refused(path, "2 names (hard links)")


def test_directory_in_the_files_place(path: Path) -> None:
    path.unlink()
    path.mkdir()
    refused(path, "not a regular file")


def test_changed_underneath(path: Path) -> None:
    refused(path, "it changed while kidx worked on it", before=b"\0\0\0\1\0\0\0\6")


def test_appeared_underneath(path: Path) -> None:
    refused(path, "it changed while kidx worked on it", before=None)


def test_vanished_underneath(path: Path) -> None:
    path.unlink()
    refused(path, "it changed while kidx worked on it")


def test_changed_at_the_last_moment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def write_meanwhile(at, function, args, kwargs):
        calls.append(function.__name__)
        if calls.count("write") == 3 and function.__name__ == "write":  # the journal's line, after backup and new file
            path.write_bytes(b"another")
        return function(*args, **kwargs)

    intercept(monkeypatch, write_meanwhile)
    with pytest.raises(Refused, match="it changed while kidx worked on it"):
        replace(path)
    assert listing(path.parent) == {INDEX: b"another"}


def test_running_broker(path: Path) -> None:
    with running_broker(path.parents[1]):
        refused(path, "a broker runs on this directory", ".lock is held by process")
    replace(path)


def test_running_broker_through_a_linked_directory(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").symlink_to(path.parent)
    with running_broker(path.parents[1]):
        refused(tmp_path / "elsewhere" / INDEX, "a broker runs on this directory")


def test_nothing_is_written_below_a_running_brokers_log_dir(path: Path) -> None:
    with running_broker(path.parents[1]), pytest.raises(Refused, match="a broker runs"):
        create_apart(str(path.parents[1] / "fixed" / "plain-0" / INDEX), from_bytes(NEW))
    assert not (path.parents[1] / "fixed").exists()


def test_a_broker_that_starts_meanwhile_is_kept_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = path.parents[1] / ".lock"
    lock.touch()
    start = "import fcntl, sys; f = open(sys.argv[1], 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)"
    tried = []

    def start_broker(at, function, args, kwargs):
        if function.__name__ == "rename" and not tried:
            tried.append(subprocess.run([sys.executable, "-c", start, lock], capture_output=True, check=False))
        return function(*args, **kwargs)

    intercept(monkeypatch, start_broker)
    replace(path)
    assert tried[0].returncode != 0 and b"BlockingIOError" in tried[0].stderr
    assert subprocess.run([sys.executable, "-c", start, lock], check=False).returncode == 0


def test_a_broker_that_comes_between_the_question_and_the_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kidx.surgery.broker._holder", lambda lock: None)
    with running_broker(path.parents[1]):
        refused(path, "a broker runs on this directory", ".lock is held")


def test_another_kidx(path: Path) -> None:
    hold = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], 0), fcntl.LOCK_EX); print(flush=True); input()"
    other = subprocess.Popen([sys.executable, "-c", hold, path.parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdin and other.stdout
    other.stdout.readline()
    refused(path, "another kidx is writing there")
    other.stdin.close()
    other.wait(10)
    other.stdout.close()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "no space left on the device"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "the file system is read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, "the device failed"),
    ],
)
def test_any_call_may_fail(path: Path, number: int, words: str) -> None:
    path.with_suffix(".timeindex").write_bytes(b"another file")
    before = listing(path.parent)
    for failing in range(100):
        with pytest.MonkeyPatch.context() as patch:
            intercept(patch, failing_from(failing, number))
            try:
                replace(path)
                break
            except Refused as refusal:
                assert words in str(refusal)
            except KidxError as afterwards:  # the very last call: the file is there, its directory not flushed
                assert "could not be flushed" in str(afterwards)
                break
        assert listing(path.parent) == before
    assert failing > 8
    assert path.read_bytes() == NEW


def failing_from(first: int, number: int):
    """From the call of that number on every call that takes space fails; tidying up (unlink, rmdir) still works."""

    def act(at, function, args, kwargs):
        if at >= first and function.__name__ not in ("unlink", "rmdir", "ftruncate"):
            raise OSError(number, os.strerror(number))
        return function(*args, **kwargs)

    return act


def test_a_journal_that_cannot_take_a_whole_line_keeps_the_lines_before(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace(path)
    before = listing(path.parent)

    def half_a_line(at, function, args, kwargs):
        if function.__name__ == "write" and b"kidx.journal" in bytes(args[1]):
            function(args[0], args[1][:20])
            raise OSError(errno.ENOSPC, "full")
        return function(*args, **kwargs)

    intercept(monkeypatch, half_a_line)
    with pytest.raises(Refused, match="no space left"):
        replace(path, NEW, OLD + OLD)
    assert listing(path.parent) == before


def test_file_size_limit(path: Path) -> None:
    program = f"""
from kidx.errors import Refused
from kidx.surgery.replace import carry_out
from tests.surgery.support import a_change
try:
    carry_out(a_change({str(path)!r}, {OLD!r}, bytes(100_000)), "run")
except Refused as e:
    print(e)
"""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # noqa: E731
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, preexec_fn=limit)
    assert "a file may not become that large here" in done.stdout
    assert listing(path.parent) == {INDEX: OLD}


@pytest.mark.parametrize("options", ["size=64k", "size=64k,ro"])
def test_full_and_read_only_file_systems(tmp_path: Path, options: str) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", mounted], check=False, capture_output=True
    ).returncode:
        pytest.skip("needs the right to mount a small file system")
    try:
        path = mounted / INDEX
        path.write_bytes(OLD)
        if "ro" in options:
            subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
        with pytest.raises(Refused, match="read-only" if "ro" in options else "no space left"):
            replace(path, after=bytes(100_000))
        assert listing(mounted) == {INDEX: OLD}
        assert [f.name for f in mounted.iterdir()] == [INDEX]
    finally:
        subprocess.run(["umount", mounted], check=True)


@pytest.mark.skipif(AS_ROOT, reason="root may write anywhere")
def test_directory_without_the_right_to_write(path: Path) -> None:
    path.parent.chmod(0o555)
    try:
        refused(path, "permission denied")
    finally:
        path.parent.chmod(0o755)


def test_workplace_that_is_no_directory(path: Path) -> None:
    (path.parent / ".kidx").write_bytes(b"mine")
    refused(path, ".kidx: not a directory")


def test_workplace_that_is_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "trap").mkdir()
    (path.parent / ".kidx").symlink_to(tmp_path / "trap")
    refused(path, ".kidx: not a directory")
    assert not list((tmp_path / "trap").iterdir())


def test_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no such file or directory"):
        replace(tmp_path / "nowhere" / INDEX, before=None)


def test_a_file_apart_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "out" / "plain-0" / INDEX
    create_apart(str(path), from_bytes(NEW))
    create_apart(str(path), from_bytes(NEW))  # these very bytes: nothing to do
    with pytest.raises(Refused, match="another file already"):
        create_apart(str(path), from_bytes(OLD))
    assert listing(tmp_path) == {f"out/plain-0/{INDEX}": NEW}


def test_any_call_for_a_file_apart_may_fail(tmp_path: Path) -> None:
    path = tmp_path / "out" / INDEX
    for failing in range(100):
        with pytest.MonkeyPatch.context() as patch:
            intercept(patch, failing_from(failing, errno.ENOSPC))
            try:
                create_apart(str(path), from_bytes(NEW))
                break
            except Refused as refusal:
                assert "no space left on the device" in str(refusal)
            except KidxError as afterwards:
                assert "could not be flushed" in str(afterwards)
                break
        assert listing(tmp_path) == {}
    assert failing > 3 and listing(tmp_path) == {f"out/{INDEX}": NEW}


def test_a_file_system_without_locks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    refused(path, "its file system gives no lock", "nothing was written")


def test_reading_what_cannot_be_read(tmp_path: Path) -> None:
    assert current(tmp_path / INDEX) is None
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises((Refused, CannotRead)):
        current(tmp_path / "loop")


@pytest.mark.parametrize("call", ["fcntl", "lockf"])
def test_a_file_system_that_does_not_say_whether_a_broker_runs(
    path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_answer(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    (path.parent / ".lock").touch()
    monkeypatch.setattr(f"fcntl.{call}", no_answer)
    refused(path, ".lock: its file system does not answer whether a broker holds it", "nothing written")


def test_everything_is_flushed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = []
    fsync = os.fsync

    def noted(fd: int) -> None:
        flushed.append(os.path.relpath(os.readlink(f"/proc/self/fd/{fd}"), path.parent))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    backup = replace(path)
    assert backup is not None
    assert set(flushed) == {
        ".",
        ".kidx",
        ".kidx/journal.jsonl",
        f".kidx/{INDEX}.new",
        f".kidx/{Path(backup).name}.part",
    }
    assert flushed[-1] == "."  # the exchange itself


def test_nobody_else_reads_what_is_being_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes, write = [], os.write

    def watched(fd: int, data: bytes) -> int:
        modes.append(os.fstat(fd).st_mode & 0o777)
        return write(fd, data)

    path.chmod(0o644)
    monkeypatch.setattr(os, "write", watched)
    before = os.umask(0)
    try:
        replace(path)
    finally:
        os.umask(before)
    assert len(modes) >= 3 and set(modes) == {0o600}  # the backup, the new file, the journal's line


def test_a_journal_grows_no_longer_than_is_read_of_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kidx.surgery.workplace.SMALL_FILE_BYTES", 100)
    with locked(str(path.parent)) as place, workplace(place, str(path.parent)) as bench:
        with pytest.raises(Refused, match=r"journal\.jsonl is full \(0 bytes\)"):
            bench.note(bytes(100))
        bench.note(b"x" * 98 + b"\n")
        with pytest.raises(Refused, match=r"journal\.jsonl is full \(99 bytes\)"):
            bench.note(b"\n")


def test_a_new_file_has_the_mode_that_any_program_would_give_it(path: Path) -> None:
    new = path.with_suffix(".timeindex")
    before = os.umask(0o022)
    try:
        carry_out(a_change(new, None, NEW), new_run())
    finally:
        os.umask(before)
    assert new.stat().st_mode & 0o777 == 0o644
