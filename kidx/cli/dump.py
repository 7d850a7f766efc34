"""`kidx dump`: a file's contents, entry by entry."""

from __future__ import annotations

from typing import Any

import click

from kidx.cli import options
from kidx.cli.commands import Sectioned
from kidx.cli.dump_options import log_options, row_options, table_request
from kidx.cli.kafka_dump import kafka_options, kafka_run, print_kafka_text
from kidx.cli.key_count import print_key_count
from kidx.cli.paths import from_file_option, given_paths
from kidx.cli.tier_options import key_file_option
from kidx.cli.values import PATH
from kidx.errors import UsageError
from kidx.report.printing import each, show_table

_EXAMPLES = """
\b
Examples:
  kidx dump orders-3/00000000000004117222.index
  kidx dump --format kafka orders-3/*.timeindex
  kidx dump --iso --from 2026-01-31T12:00Z 00000000000004117222.timeindex
  kidx dump --from slot:1020 --hex orders-3/00000000000004117222.index
  kidx dump --from 4118000 --producer-id 17 orders-3/00000000000004117222.log
  kidx dump --records --key order-4711 --iso orders-3/00000000000004117222.log
  kidx dump --records --redact orders-3/00000000000004117222.log
  kidx dump --decode --tail 20 __consumer_offsets-17/00000000000004117222.log
  kidx dump --format kafka --print-data-log orders-3/00000000000004117222.log
  kidx dump --format jsonl --kind transaction_index /var/lib/kafka/data
  zstd -dc old.index.zst | kidx dump --kind offset_index --base-offset 0 -
"""


@click.command(
    cls=Sectioned,
    epilog=_EXAMPLES,
    sections={"Logs: ": "Options for logs", "kafka: ": "Options of --format kafka, DumpLogSegments' own"},
)
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH...")
@options.format_option("kafka")
@options.iso_option
@options.base_offset_option
@key_file_option
@from_file_option
@options.max_inflate_option
@row_options
@log_options
@kafka_options
def command(paths: tuple[str, ...], form: str, from_file: str | None, kind: str | None, **asked: Any) -> int:
    """Print a file's contents, entry by entry: indexes, logs and snapshots in every state, checkpoints, properties.

    PATH is a file, a directory (every file below that kidx can dump), a pattern, or `-` (with --kind). A bound is a
    number (an offset), an ISO 8601 time, or names a column: slot:100, offset:4117222, time:1700000000000, position:0.
    Batches are shown where they overlap it.

    Kinds: offset_index, time_index, transaction_index, log, metadata_snapshot, producer_snapshot, leader_epochs,
    offset_checkpoint, meta_properties, partition_metadata, quorum_state, remote_manifest.

    Every complete entry before a zero tail is shown, even a wrong one, and batches after damage, too; use verify to
    check them. `--format kafka` prints the text of Kafka's DumpLogSegments: complaints go to stderr after all files,
    and make the exit status 1.
    """
    from kidx.logdir.tree import expand

    given = given_paths(paths, from_file)
    if asked["count"]:
        return print_key_count(list(expand(given)), {**asked, "form": form})
    if form == "kafka":
        return print_kafka_text(kafka_run(asked), list(expand(given)), kind)
    request = table_request(form, asked)
    return _print_tables(list(expand(given)), form, kind, asked["iso"], request)


def _print_tables(paths: list[str], form: str, kind: str | None, iso: bool, request: dict[str, Any]) -> int:
    from kidx.report.formats.printer import Printer
    from kidx.tables.file_tables import KINDS, ROW_KINDS, open_table
    from kidx.tables.input_files import InputFile, input_files

    files = list(input_files(paths, kind, KINDS))
    if form == "csv" and len({ROW_KINDS.get(f.kind, f.kind) for f in files if isinstance(f, InputFile)}) > 1:
        raise UsageError("csv holds one kind of row, and these files have several; choose one with --kind")
    several = len(files) > 1 or [file.path for file in files if isinstance(file, InputFile)] != paths
    printer = Printer(form, iso=iso, headings=several, any_schema="kidx.dump.v1")

    def print_file(file: InputFile) -> int:
        with open_table(*file, **request) as table:
            return show_table(table, printer.print, summary_shown=form == "json")

    status = each(files, print_file)
    printer.close()
    return status
