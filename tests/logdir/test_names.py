"""Names: every form that Kafka gives its files and directories, and what only looks like one."""

from __future__ import annotations

import pytest

from kidx.errors import UsageError
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX
from kidx.logdir.names import base_offset_of, index_format_of, parse_file_name, parse_partition_name

LARGEST = 2**63 - 1
UUID = "AbCdEfGhIjKlMnOpQrSt-_"


@pytest.mark.parametrize(
    ("name", "kind", "base_offset", "state", "tag"),
    [
        ("00000000000000000000.log", "log", 0, "", ""),
        ("00000000000000000042.index", "offset_index", 42, "", ""),
        ("00000000000000000042.timeindex", "time_index", 42, "", ""),
        ("00000000000000000042.txnindex", "transaction_index", 42, "", ""),
        ("00000000000000000042.snapshot", "producer_snapshot", 42, "", ""),
        (f"0{LARGEST}.log", "log", LARGEST, "", ""),
        ("00000000000000000042.index.deleted", "offset_index", 42, ".deleted", ""),
        ("00000000000000000042.log.cleaned", "log", 42, ".cleaned", ""),
        ("00000000000000000042.timeindex.swap", "time_index", 42, ".swap", ""),
        ("00000000000000000042.snapshot.deleted", "producer_snapshot", 42, ".deleted", ""),
        ("00000000000000000123-0000000004.checkpoint", "metadata_snapshot", 123, "", "0000000004"),
        ("00000000000000000123-0000000004.checkpoint.deleted", "metadata_snapshot", 123, ".deleted", "0000000004"),
        (f"4711_{UUID}.index", "offset_index", 4711, "", UUID),
        (f"4711_{UUID}.timeindex.deleted", "time_index", 4711, ".deleted", UUID),
        (f"{LARGEST}_{UUID}.txnindex", "transaction_index", LARGEST, "", UUID),
        ("orders.index", "offset_index", None, "", ""),
        ("orders.index.deleted", "offset_index", None, ".deleted", ""),
        ("1.log", "log", None, "", ""),
        (".index", "offset_index", None, "", ""),
        ("0000000000000000000042.index", "offset_index", None, "", ""),
        ("99999999999999999999.index", "offset_index", None, "", ""),
        (f"{LARGEST + 1}_{UUID}.index", "offset_index", None, "", UUID),
        ("leader-epoch-checkpoint", "leader_epochs", None, "", ""),
        ("partition.metadata", "partition_metadata", None, "", ""),
        ("recovery-point-offset-checkpoint", "offset_checkpoint", None, "", ""),
        (".kafka_cleanshutdown", "clean_shutdown_mark", None, "", ""),
        ("bootstrap.checkpoint", "metadata_snapshot", None, "", ""),
    ],
)
def test_file_names(name: str, kind: str, base_offset: int | None, state: str, tag: str) -> None:
    expected = (kind, base_offset, state, tag)
    assert parse_file_name(name) == expected
    assert parse_file_name(f"/data/orders-0/{name}") == expected


@pytest.mark.parametrize(
    "name",
    [
        "",
        "orders",
        "00000000000000000000",
        "00000000000000000000.txt",
        "00000000000000000000.index.gz",
        "00000000000000000000.INDEX",
        "00000000000000000000.index.deleted.deleted",
        "indexes",
        "٠" * 20 + ".indexes",
        "orders.index/",
    ],
)
def test_names_of_other_files(name: str) -> None:
    assert parse_file_name(name) is None


def test_digits_of_other_scripts_are_no_offset() -> None:
    named = parse_file_name("٠" * 20 + ".index")
    assert named is not None
    assert named.base_offset is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-3", ("orders", 3, "")),
        ("big.name_with-dashes-7", ("big.name_with-dashes", 7, "")),
        ("a-1-0", ("a-1", 0, "")),
        ("2024-05-17-12", ("2024-05-17", 12, "")),
        ("__consumer_offsets-49", ("__consumer_offsets", 49, "")),
        ("orders-3." + "0f" * 16 + "-delete", ("orders", 3, "delete")),
        ("a-1-0." + "00" * 16 + "-future", ("a-1", 0, "future")),
        ("orders-3." + "0f" * 16 + "-stray", ("orders", 3, "stray")),
        ("orders-3." + "0f" * 16 + "-delete-5", ("orders-3." + "0f" * 16 + "-delete", 5, "")),
        ("orders", None),
        ("-3", None),
        ("orders-", None),
        ("orders-x", None),
        ("orders-3.0f-delete", None),
        ("orders-٣", None),
    ],
)
def test_partition_names(name: str, expected: tuple[str, int, str] | None) -> None:
    assert parse_partition_name(name) == expected
    assert parse_partition_name(f"/data/{name}/") == expected


def test_the_name_or_the_caller_says_which_index_it_is() -> None:
    assert index_format_of("x/00000000000000000000.index.swap") is OFFSET_INDEX
    assert index_format_of("copy.timeindex") is TIME_INDEX
    assert index_format_of("-", "transaction_index") is TRANSACTION_INDEX
    for path in ("x/00000000000000000000.log", "notes.txt", "-"):
        with pytest.raises(UsageError, match="not an index by its name"):
            index_format_of(path)


def test_the_name_or_the_caller_says_the_base_offset() -> None:
    assert base_offset_of("x/00000000000000000042.index") == 42
    assert base_offset_of("x/00000000000000000042.index", 7) == 7
    assert base_offset_of("orders.index", LARGEST) == LARGEST
    assert base_offset_of(f"4711_{UUID}.index") == 4711
    with pytest.raises(UsageError, match=r"^orders\.index: its name holds no base offset .* --base-offset$"):
        base_offset_of("orders.index")
    with pytest.raises(UsageError, match="beyond any offset"):
        base_offset_of("99999999999999999999.index")
    for given in (-1, LARGEST + 1):
        with pytest.raises(UsageError, match=f"--base-offset {given} is not an offset"):
            base_offset_of("orders.index", given)
