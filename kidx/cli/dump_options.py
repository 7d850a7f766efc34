"""Options of `kidx dump` that select rows or that apply only to logs, as arguments of open_table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kidx.cli.choices import OneOf
from kidx.cli.decoders import topic_family
from kidx.cli.kafka_dump import KAFKA_OPTIONS, given
from kidx.cli.key_count import key_options
from kidx.cli.options import all_of
from kidx.cli.values import ANY_NUMBER, Number
from kidx.errors import UsageError


def known_kinds() -> tuple[str, ...]:
    """Kinds of files that dump knows."""
    from kidx.tables.file_tables import KINDS

    return KINDS


row_options = all_of(
    click.option(
        "--kind",
        type=OneOf("KIND", known_kinds),
        help="The kind of files whose names do not show it; of a directory's files, only these.",
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
    key_options,
    click.option("--producer-id", type=ANY_NUMBER, help="Logs: only of this producer."),
    click.option("--producer-epoch", type=ANY_NUMBER, help="Logs: only of this producer epoch."),
    click.option("--leader-epoch", type=ANY_NUMBER, help="Logs: only batches of this leader epoch."),
)


def table_request(form: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of open_table, except the file. Raises UsageError for an option of --format kafka."""
    from kidx.segments.sought_key import sought_key
    from kidx.tables.file_tables import LogView
    from kidx.tables.selection import Selection, parse_bound

    if given(asked, KAFKA_OPTIONS):
        raise UsageError("DumpLogSegments' own options go with --format kafka; elsewhere --records shows records")
    people = form in ("text", "table")
    fields = given(asked, LogView._fields)
    fields["show"] = "redact" if asked["redact"] else asked["show"] or ("text" if people else "hex")
    fields["key"] = sought_key(asked["key"], asked["key_sha256"])
    view = LogView(**fields, brief=form == "text", as_text=people)
    wanted = Selection(parse_bound(asked["low"]), parse_bound(asked["high"]), asked["head"], asked["tail"])
    return {"base_offset": asked["base_offset"], "hexed": asked["hexed"], "wanted": wanted, "view": view}
