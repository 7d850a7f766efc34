"""kidx dump: what is in a file, entry by entry."""

from __future__ import annotations

from typing import Any

import click

from kidx.cli import options
from kidx.cli.dumping.options import kafka_options, log_options
from kidx.cli.values import Number, OneOf

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


def known_kinds() -> tuple[str, ...]:
    """Kinds of files that dump knows."""
    from kidx.cli.dumping.run import KINDS

    return KINDS


@click.command(
    cls=options.Sectioned,
    epilog=_EXAMPLES,
    sections={"Logs: ": "Options for logs", "kafka: ": "Options of --format kafka, DumpLogSegments' own"},
)
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="PATH...")
@options.format_option("kafka")
@options.iso_option
@options.base_offset_option
@options.from_file_option
@click.option(
    "--kind",
    type=OneOf("KIND", known_kinds),
    help="What the files are, where names do not tell; of a directory's files, only these.",
)
@click.option("--from", "low", metavar="BOUND", help="Rows from here on: N, an ISO time, or FIELD:VALUE.")
@click.option("--to", "high", metavar="BOUND", help="Rows up to this one, itself included.")
@click.option("--head", type=Number(), help="The first N of them.")
@click.option("--tail", type=Number(), help="The last N of them; with --head, both ends.")
@click.option("--hex", "hexed", is_flag=True, help="Show each field's bytes and their place in the file too.")
@log_options
@kafka_options
def command(paths: tuple[str, ...], form: str, from_file: str | None, kind: str | None, **asked: Any) -> int:
    """Print what is in a file, entry by entry: indexes, logs and snapshots in every state, and the files beside them.

    PATH is a file, a directory (every file below that kidx can dump), a pattern, or `-` (with --kind). A bound is a
    number (an offset), an ISO 8601 time, or names a column: slot:100, offset:4117222, time:1700000000000, position:0.
    Batches are shown where they overlap it.

    Kinds: offset_index, time_index, transaction_index, log, metadata_snapshot, producer_snapshot, leader_epochs,
    offset_checkpoint, meta_properties, partition_metadata, quorum_state.

    Every whole entry before a zero tail is shown, however wrong, and batches behind damage too: judging is verify's
    work. `--format kafka` is the text of Kafka's DumpLogSegments: complaints on standard error after all files, and
    with them exit status 1.
    """
    from kidx.cli.dumping.run import dump_all

    return dump_all(options.given_paths(paths, from_file), form, kind, **asked)
