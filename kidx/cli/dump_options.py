"""Options of `kidx dump` that choose rows, that only logs have, or that are DumpLogSegments' own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kidx.cli.decoders import DECODERS, topic_family
from kidx.cli.options import all_of
from kidx.cli.values import ANY_NUMBER, Bytes, Number, OneOf
from kidx.errors import UsageError

if TYPE_CHECKING:
    from kidx.compat.dump_log_segments.dump import DumpLogSegments

F = TypeVar("F", bound=Callable[..., Any])
_PEOPLE = ("text", "table")  # formats for people


def known_kinds() -> tuple[str, ...]:
    """Kinds of files that dump knows."""
    from kidx.tables.file_tables import KINDS

    return KINDS


row_options = all_of(
    click.option(
        "--kind",
        type=OneOf("KIND", known_kinds),
        help="What the files are, where names do not tell; of a directory's files, only these.",
    ),
    click.option("--from", "low", metavar="BOUND", help="Rows from here on: N, an ISO time, or FIELD:VALUE."),
    click.option("--to", "high", metavar="BOUND", help="Rows up to this one, itself included."),
    click.option("--head", type=Number(), help="The first N of them."),
    click.option("--tail", type=Number(), help="The last N of them; with --head, both ends."),
    click.option("--hex", "hexed", is_flag=True, help="Show each field's bytes and their place in the file too."),
)
log_options = all_of(
    click.option(
        "--decoder",
        "topic_family",
        callback=topic_family,
        metavar="TOPIC",
        help="Decode as records of this topic (offsets, cluster-metadata, ...), whatever the directory is called.",
    ),
    click.option("--decode", is_flag=True, help="Logs of Kafka's own topics: the fields of each record."),
    click.option("--records", is_flag=True, help="Logs: records instead of batches."),
    click.option(
        "--show",
        type=click.Choice(["text", "hex", "base64"]),
        help="How to show keys, values and headers. [default: text for people, hex for programs]",
    ),
    click.option("--redact", is_flag=True, help="Lengths and hashes instead of keys, values and headers."),
    click.option("--key", metavar="TEXT", help="Logs: only records with this key; implies --records."),
    click.option("--producer-id", type=ANY_NUMBER, help="Logs: only of this producer."),
    click.option("--producer-epoch", type=ANY_NUMBER, help="Logs: only of this producer epoch."),
    click.option("--leader-epoch", type=ANY_NUMBER, help="Logs: only batches of this leader epoch."),
)
kafka_options = all_of(
    click.option("--print-data-log", is_flag=True, help="kafka: a log's records with keys and values."),
    click.option("--deep-iteration", is_flag=True, help="kafka: a log's records too."),
    click.option("--skip-record-metadata", is_flag=True, help="kafka: without records' offsets, sizes and headers."),
    click.option(
        "--max-bytes", type=Bytes(most=2**31 - 1), default=2**31 - 1, help="kafka: only a log's first N bytes."
    ),
    click.option("--verify-index-only", is_flag=True, help="kafka: compare indexes with logs, print no entries."),
    click.option("--index-sanity-check", is_flag=True, help="kafka: only a broker's sanity check of indexes."),
    *(
        click.option(f"--{word}-decoder", "decoder", flag_value=family, help=f"kafka: decode records of {topic}.")
        for word, topic, family in DECODERS
    ),
)
_OF_TABLES = ("low", "high", "head", "tail", "hexed", "iso", "records", "show", "redact", "key", "decode",
              "producer_id", "producer_epoch", "leader_epoch", "topic_family")  # fmt: skip


def kafka_run(asked: Mapping[str, Any]) -> DumpLogSegments:
    """A run of DumpLogSegments with its options. Raises UsageError for an option of the other formats."""
    from kidx.compat.dump_log_segments.dump import DumpLogSegments, DumpOptions

    if any(asked[name] is not None and asked[name] is not False for name in _OF_TABLES):
        raise UsageError("--format kafka is DumpLogSegments' text, which can neither be narrowed nor shown otherwise")
    tool_options = DumpOptions(**{name: asked[name] for name in DumpOptions._fields})
    return DumpLogSegments(asked["base_offset"], tool_options)


def table_request(form: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of open_table, except the file. Raises UsageError for an option of --format kafka."""
    from kidx.compat.dump_log_segments.dump import DumpOptions
    from kidx.tables.file_tables import LogView
    from kidx.tables.selection import Selection, parse_bound

    if DumpOptions(**{name: asked[name] for name in DumpOptions._fields}) != DumpOptions():
        raise UsageError("DumpLogSegments' own options go with --format kafka; elsewhere --records shows records")
    fields = {name: asked[name] for name in LogView._fields if name in asked}
    show = "redact" if asked["redact"] else asked["show"] or ("text" if form in _PEOPLE else "hex")
    key = None if asked["key"] is None else os.fsencode(asked["key"])
    view = LogView(**fields | {"show": show, "key": key}, brief=form == "text", as_text=form in _PEOPLE)
    wanted = Selection(parse_bound(asked["low"]), parse_bound(asked["high"]), asked["head"], asked["tail"])
    return {"base_offset": asked["base_offset"], "hexed": asked["hexed"], "wanted": wanted, "view": view}
