"""Commit-log messages as a table: fields as decoded by the broker, and whether CRCs match."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from kidx.rocketmq.commit_log import walk
from kidx.rocketmq.files import MappedFile, OpenFiles
from kidx.rocketmq.formats import MAGIC_BLANK, MESSAGE_HEAD
from kidx.rocketmq.layout import base_of
from kidx.rocketmq.messages import Blank, Broken, Message
from kidx.tables.table import BOOL, BYTES, INT, TEXT, TIMESTAMP, TREE, Column, Table

_COLUMNS = (
    ("offset", INT),  # the commit-log offset at which it lies
    ("size", INT),
    ("state", TEXT),  # message, blank, broken
    ("magic", TEXT),
    ("topic", TEXT),
    ("queue_id", INT),
    ("queue_offset", INT),
    ("physical_offset", INT),
    ("store_timestamp", TIMESTAMP),
    ("born_timestamp", TIMESTAMP),
    ("born_host", TEXT),
    ("store_host", TEXT),
    ("flag", INT),
    ("sys_flag", INT),
    ("transaction", TEXT),
    ("reconsume_times", INT),
    ("prepared_transaction_offset", INT),
    ("tags", TEXT),
    ("keys", TEXT),
    ("properties", TREE),
    ("body_bytes", INT),
    ("body_crc", INT),
    ("body_crc_ok", BOOL),
    ("property_crc_ok", BOOL),
    ("reason", TEXT),
)
_TEXT = ("offset", "size", "state", "topic", "queue_id", "queue_offset", "store_timestamp", "tags", "keys")
_TRANSACTIONS = {0x4: "prepared", 0x8: "committed", 0xC: "rolled_back"}


def message_table(path: str, bodies: bool) -> Table:
    """kidx.rocketmq_message.v1: a row a record of a commit-log file; `bodies` adds the body, as stored."""
    opened = OpenFiles()
    size = opened.get(path).size
    file = MappedFile(opened, path, base_of(os.path.basename(path)) or 0, size, size)
    summary: dict[str, Any] = {}

    def rows() -> Iterator[list[Any]]:
        for position, found in walk(file):
            if isinstance(found, Broken) and found.end:
                summary.update(end=file.base + position, left_bytes=file.size - position)
                return
            row = _row(file.base + position, found)
            yield [*row, found.body if isinstance(found, Message) else None] if bodies else row

    columns = [Column(name, kind) for name, kind in _COLUMNS]
    if bodies:
        columns.append(Column("body", BYTES))
    return Table(MESSAGE_HEAD.schema, columns, rows(), summary, constants={"file": path})


def screen_table(table: Table) -> Table:
    """The columns that fit a screen."""
    chosen = [i for i, column in enumerate(table.columns) if column.name in _TEXT]
    rows = ([row[i] for i in chosen] for row in table.rows)
    return Table(table.schema, [table.columns[i] for i in chosen], rows, constants=table.constants)


def _row(offset: int, found: Message | Blank | Broken) -> list[Any]:
    if not isinstance(found, Message):
        blank = isinstance(found, Blank)
        row: list[Any] = [offset, found.size, "blank" if blank else "broken", f"{MAGIC_BLANK:08x}" if blank else None]
        row += [None] * (len(_COLUMNS) - len(row) - 1)
        return [*row, found.reason if isinstance(found, Broken) else None]
    crc = found.property_crc()
    return [
        offset,
        found.size,
        "message",
        f"{found.magic:08x}",
        found.topic,
        found.queue_id,
        found.queue_offset,
        found.physical_offset,
        found.store_timestamp,
        found.born_timestamp,
        found.born_host,
        found.store_host,
        found.flag,
        found.sys_flag,
        _TRANSACTIONS.get(found.transaction),
        found.reconsume_times,
        found.prepared_transaction_offset,
        found.properties.get("TAGS"),
        found.properties.get("KEYS"),
        found.properties,
        len(found.body),
        found.body_crc,
        not found.body or found.body_crc_found() == found.body_crc,
        None if crc is None else crc[0] == crc[1],
        None,
    ]
