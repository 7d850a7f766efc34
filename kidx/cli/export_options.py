"""Options of `kidx export`."""

from __future__ import annotations

import click

from kidx.cli.key_count import key_options
from kidx.cli.options import all_of
from kidx.cli.values import ANY_NUMBER, JOBS, PATH, Bytes, Number

_SMALLEST_FILE_BYTES = 1 << 20

export_options = all_of(
    click.option(
        "-f",
        "--format",
        "form",
        type=click.Choice(["parquet", "arrow", "jsonl", "csv"]),
        default="jsonl",
        show_default=True,
        help="The format of the output.",
    ),
    click.option(
        "-o",
        "--output",
        type=PATH,
        default="-",
        show_default=True,
        metavar="FILE|DIR|-",
        help="Where records are written.",
    ),
    click.option(
        "--encoding",
        type=click.Choice(["utf8", "base64", "hex", "json"]),
        default="utf8",
        show_default=True,
        help="jsonl and csv: keys, values and headers. base64 and hex are exact; utf8 writes other bytes as \\xNN.",
    ),
    click.option(
        "--schemas",
        type=PATH,
        metavar="PATH",
        help="Decode keys and values that carry schema ids, by a copy of the registry's topic, _schemas-0.",
    ),
    click.option("--columns", metavar="NAME,...", help="Only these columns.  [default: all]"),
    click.option("--from", "low", metavar="BOUND", help="Records from here on: an offset, or an ISO time."),
    click.option("--to", "high", metavar="BOUND", help="Records up to this one, itself included."),
    click.option("--since", metavar="TIME", help="Records with a timestamp at or after this: ISO 8601, or ms."),
    click.option("--until", metavar="TIME", help="Records with a timestamp up to this one, itself included."),
    key_options,
    click.option("--producer-id", type=ANY_NUMBER, help="Only records of this producer."),
    click.option("--topic", "topics", multiple=True, help="Only this topic; repeatable."),
    click.option("--partition", "partitions", type=Number(), multiple=True, help="Only this partition; repeatable."),
    click.option(
        "--isolation",
        type=click.Choice(["read_uncommitted", "read_committed"]),
        default="read_uncommitted",
        show_default=True,
        help="read_committed leaves out aborted records, and all from the first open transaction on.",
    ),
    click.option("--control", is_flag=True, help="Export transaction markers and other control records, too."),
    click.option("--damaged", is_flag=True, help="Export what can be decoded of batches with a wrong CRC, too."),
    click.option("--deleted", is_flag=True, help="Fill holes from files marked .deleted, .swap or .cleaned."),
    click.option(
        "--manifest",
        type=PATH,
        metavar="FILE",
        help="Write what was exported, damaged and missing to this file.",
    ),
    click.option(
        "--file-size", "file_bytes", type=Bytes(_SMALLEST_FILE_BYTES), help="Begin another file before one is larger."
    ),
    click.option("--resume", is_flag=True, help="Continue an export into the same directory that was interrupted."),
    click.option("-j", "--jobs", type=JOBS, help="Partitions at a time.  [default: 2, at most one for each CPU]"),
)
