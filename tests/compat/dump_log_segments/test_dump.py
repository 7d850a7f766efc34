"""--format kafka is the text of DumpLogSegments: recorded answers for every file, and what it does about damage."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kidx.cli import main
from kidx.compat.dump_log_segments import java
from tests.damage import append_garbage, flip_byte, overwrite, set_entry, set_header, shrink, zero_tail
from tests.support import FIXTURES, Ran, dump_texts

PLAIN = FIXTURES / "kafka-4.3.1/clean/plain-0"
NAME = "00000000000000000190"
OPTIONS = {
    ".print": ["--print-data-log"],
    ".deep": ["--deep-iteration"],
    ".verify": ["--verify-index-only"],
    ".sanity": ["--index-sanity-check"],
}
Dump = Callable[..., Ran]


@pytest.fixture
def dump(capfdbinary: pytest.CaptureFixture[bytes]) -> Dump:
    """Dump in this process: thousands of files are asked for."""

    def run(*args: object) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(["dump", "--format", "kafka", *map(str, args)])
        captured = capfdbinary.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return run


def recorded() -> Iterator[tuple[Path, str, list[str], bytes]]:
    """Every answer of the tool: the file's directory and name, the options, and the text."""
    for file, options, text in dump_texts():
        if b"<<threw" not in text and options != ".decoded":
            yield file.parent, file.name, OPTIONS[options] if options else [], text


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint"])
def test_text_of_every_recorded_file(suffix: str, dump: Dump, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    for directory, name, options, wanted in recorded():
        if name.endswith(suffix):
            monkeypatch.chdir(directory)
            ran = dump(*options, name)
            # Recorded were both streams as one, and paths without their directory.
            joined = ran.out + ran.err.replace(str(directory.resolve()).encode() + b"/", b"")
            assert wanted in (ran.out, joined), f"{directory / name} {options}"
            asked += 1
    assert asked


def test_batches_by_windows_and_one_by_one_have_the_same_lines(dump: Dump) -> None:
    for topic in ("kafka-2.8.2/old/upgraded-0", "kafka-4.3.1/clean/txn-0", "kafka-4.3.1/compaction/after/compacted-0"):
        for log in (FIXTURES / topic).glob("*.log"):
            one_by_one = dump("--deep-iteration", "--skip-record-metadata", log).out.splitlines()
            assert dump(log).out.splitlines() == [line for line in one_by_one if line]


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A copy of one segment, for damage."""
    for path in PLAIN.glob(f"{NAME}.*"):
        shutil.copy(path, tmp_path)
    return tmp_path


def test_a_lone_index_is_printed_unchecked_and_gets_no_company(partition: Path, dump: Dump) -> None:
    index = partition / f"{NAME}.index"
    with_log = dump(index)
    for sibling in (".log", ".timeindex", ".index"):
        if sibling != ".index":
            (partition / f"{NAME}{sibling}").unlink()
    assert dump(index) == with_log
    assert {p.name for p in partition.iterdir()} == {p.name for p in PLAIN.glob(f"{NAME}.*")} - {
        f"{NAME}.log",
        f"{NAME}.timeindex",
    }
    ran = dump("--verify-index-only", index)
    assert ran.status == 3 and b"to compare it with" in ran.err


def test_files_in_the_order_given_and_complaints_after_all_of_them(partition: Path, dump: Dump) -> None:
    index = set_entry(partition / f"{NAME}.index", 0, 1, entry_position(partition, 0))
    log = partition / f"{NAME}.log"
    ran = dump(index, log)
    assert ran.out.index(b"Dumping %b\n" % bytes(index)) < ran.out.index(b"Dumping %b\n" % bytes(log))
    assert ran.err.startswith(b"Mismatches in :%b\n  Index offset: 191, log offset: " % bytes(index))
    assert ran.status == 1


def entry_position(directory: Path, slot: int) -> int:
    return int(struct.unpack_from(">ii", (directory / f"{NAME}.index").read_bytes(), 8 * slot)[1])


def test_first_later_entry_at_the_base_offset_ends_an_index(partition: Path, dump: Dump) -> None:
    (partition / f"{NAME}.log").unlink()
    index = set_entry(partition / f"{NAME}.index", 2, 0, 77)
    assert dump(index).out.count(b"\n") == 3
    set_entry(index, 0, 0, 0)
    assert b"offset: 190 position: 0\n" in dump(index).out


def test_empty_indexes(tmp_path: Path, dump: Dump) -> None:
    index, times = tmp_path / f"{NAME}.index", tmp_path / f"{NAME}.timeindex"
    index.touch()
    times.touch()
    assert dump(index).out == b"Dumping %b\n%b is empty.\n" % (bytes(index), bytes(index))
    assert dump(times).out == b"Dumping %b\n" % bytes(times)
    zero_tail(index, 80)
    zero_tail(times, 120)
    assert dump(index).out.endswith(b"offset: 190 position: 0\n")
    assert dump(times).out.endswith(b"timestamp: 0 offset: 190\n")


@pytest.mark.parametrize("name", [f"{NAME}.index.deleted", "README", "leader-epoch-checkpoint"])
def test_unknown_names_are_ignored_in_its_words(name: str, tmp_path: Path, dump: Dump) -> None:
    (tmp_path / name).touch()
    ran = dump(tmp_path / name)
    assert ran.out == b"Dumping %b\n" % bytes(tmp_path / name)
    assert ran.err == b"Ignoring unknown file %b\n" % bytes(tmp_path / name)


def test_paths_are_printed_as_java_prints_them(partition: Path, dump: Dump) -> None:
    ran = dump(f"{partition}//{NAME}.txnindex", f"{partition}/./{NAME}.index/")
    assert ran.out.startswith(b"Dumping %b/%b.txnindex\n" % (bytes(partition), NAME.encode()))
    assert java.path_text("a///b/") == "a/b" and java.path_text("/") == "/"


def test_an_entry_past_the_end_of_the_log_does_not_hide_other_files(partition: Path, dump: Dump) -> None:
    index = set_entry(partition / f"{NAME}.index", 1, 99, 2**31 - 1)
    snapshot = next(partition.glob("*.snapshot"))
    ran = dump(index, snapshot)
    assert ran.status == 3 and b"no whole batch starts at byte 2147483647" in ran.err
    assert b"producerId: " in ran.out


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_sanity_check(suffix: str, partition: Path, dump: Dump) -> None:
    index = partition / f"{NAME}{suffix}"
    (partition / f"{NAME}.log").unlink()  # the tool needs the log; a sanity check does not
    assert dump("--index-sanity-check", index).out.endswith(b"passed sanity check.\n")
    append_garbage(index, b"\1")
    ran = dump("--index-sanity-check", index)
    assert ran.status == 1 and b"neither positive nor a multiple of" in ran.err
    shrink(index, 1)
    zero_tail(index, index.stat().st_size + 120)
    ran = dump("--index-sanity-check", index)
    assert ran.status == (suffix == ".timeindex")
    if suffix == ".timeindex":
        assert b"the last timestamp is 0 which is less than the first" in ran.err
        set_entry(index, 0, 0, 0)
        set_entry(index, -1 + index.stat().st_size // 12, 5, -1)
    else:
        set_entry(index, index.stat().st_size // 8 - 1, -1, 0)
    assert b"offset is 189" in dump("--index-sanity-check", index).err


def test_time_index_against_its_log(partition: Path, dump: Dump) -> None:
    times = partition / f"{NAME}.timeindex"
    first, second = struct.unpack_from(">qiqi", times.read_bytes())[::2]
    offsets = struct.unpack_from(">qiqi", times.read_bytes())[1::2]
    set_entry(times, 0, second + 1, offsets[0])
    set_entry(times, 2, second + 9, 10**6)
    said = dump("--verify-index-only", times).err.decode()
    assert f"Found timestamp mismatch in :{times}\n  Index timestamp: {second + 1}, log timestamp: {first}\n" in said
    assert f"  Index timestamp: {second}, Previously indexed timestamp: {second + 1}\n" in said
    assert f"are not found in :{times}\nIndexed offset: {10**6 + 190}, found log offset: -1\n" in said


def test_logs_that_break_off(partition: Path, dump: Dump) -> None:
    log = partition / f"{NAME}.log"
    whole = dump(log).out
    append_garbage(log, bytes(10))
    assert dump(log).out == whole + b"Found 10 invalid bytes at the end of %b.log\n" % NAME.encode()
    append_garbage(log, bytes(90))
    ran = dump(log)
    assert ran.status == 3 and b"Found 100 invalid bytes" in ran.out and b"100 zero bytes and no batch" in ran.err
    shrink(log, 101)
    ran = dump(log)
    assert ran.status == 0 and ran.out.startswith(whole[: whole.rindex(b"baseOffset")]) and b"invalid bytes" in ran.out
    assert b"invalid" not in dump("--max-bytes", 700, log).out


def test_a_wrong_crc_is_said_and_records_that_cannot_be_read_too(partition: Path, dump: Dump) -> None:
    log = overwrite(partition / f"{NAME}.log", 61, b"\x7f\x7f\x7f")
    ran = dump("--deep-iteration", log)
    assert b"isvalid: false\n" in ran.out and b"the batch at byte 0: record 0" in ran.err
    assert ran.status == 3


def test_bare_records(partition: Path, dump: Dump) -> None:
    log = partition / f"{NAME}.log"
    lines = dump("--print-data-log", "--skip-record-metadata", log).out.splitlines()
    assert lines[3].startswith(b"| key: ") or lines[3].startswith(b"| payload: ")
    assert dump("--deep-iteration", "--skip-record-metadata", log).out.splitlines()[3] == b""


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda p: flip_byte(p, 20), b"Snapshot is corrupt (CRC is no longer valid). Stored crc: "),
        (lambda p: overwrite(p, 0, b"\0\7"), b"Snapshot contained an unknown file version 7"),
        (lambda p: overwrite(p, 6, b"\0\1\0\0"), b"Tried to allocate a collection of size 65536, but there are only "),
        (lambda p: overwrite(p, 6, b"\xff"), b"non-nullable field producerEntries was serialized as null"),
        (lambda p: shrink(p, 1), b"Snapshot failed schema validation: null"),
        (
            lambda p: shrink(overwrite(p, 0, b"\0\7"), p.stat().st_size - 5),
            b"Snapshot contained an unknown file version 7",
        ),
        (lambda p: overwrite(shrink(p, p.stat().st_size - 5), 0, b"\0\1"), b"Snapshot failed schema validation: null"),
    ],
)
def test_damaged_producer_snapshots(damage: Callable[[Path], Path], said: bytes, partition: Path, dump: Dump) -> None:
    snapshot = damage(next(partition.glob("*.snapshot")))
    ran = dump(snapshot)
    assert ran.status == 1 and said in ran.err and b"producerId" not in ran.out


def test_sequences_wrap_as_java_s_do(partition: Path, dump: Dump) -> None:
    log = set_header(partition / f"{NAME}.log", 0, base_sequence=2**31 - 3)
    for options in ([], ["--deep-iteration"]):  # by windows, and one by one
        assert b"baseSequence: 2147483645 lastSequence: 3 " in dump(*options, log).out
    assert java.sequence_before(1, 3) == 2**31 - 2
    assert java.sequence_after(-1, 5) == -1


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"\xed\xa0\x80", "\ufffd"), (b"\xe1\x80A", "\ufffdA"), (b"\xf0\x80\x80", "\ufffd" * 3), (b"\xc3", "\ufffd")],
)
def test_bytes_that_are_no_text_are_replaced_as_java_does(data: bytes, text: str) -> None:
    assert java.text(b"a" + data + b"z") == f"a{text}z"
