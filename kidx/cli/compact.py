"""kidx compact: what the log cleaner would do."""

from __future__ import annotations

import time
from typing import Any

import click

from kidx.cli import options
from kidx.cli.values import PATH, Bytes, Number
from kidx.report.printing import print_table

_EXAMPLES = """
\b
Examples:
  kidx compact /var/lib/kafka/data/users-0
  kidx compact users-0 --records --format csv > records.csv
  kidx compact users-0 --dedupe-buffer 16MiB --segment-bytes 100MiB
"""


@click.command(epilog=_EXAMPLES)
@click.argument("partition", type=PATH)
@click.option("--plan", is_flag=True, expose_value=False, help="The default, and all that kidx does: it never cleans.")
@click.option("--records", is_flag=True, help="One row per record instead of one per segment.")
@click.option(
    "--dedupe-buffer",
    "dedupe_buffer_bytes",
    type=Bytes(),
    default="128MiB",
    show_default=True,
    help="log.cleaner.dedupe.buffer.size, for all threads.",
)
@click.option("--threads", type=Number("N", 1, 1000), default=1, show_default=True, help="log.cleaner.threads.")
@click.option(
    "--load-factor",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    default=0.9,
    show_default=True,
    help="log.cleaner.io.buffer.load.factor.",
)
@click.option(
    "--digest", metavar="NAME", default="MD5", show_default=True, help="The offset map's: MD2, MD5, SHA-1 to SHA-512."
)
@click.option(
    "--delete-retention-ms",
    type=Number("MS"),
    default=86_400_000,
    show_default=True,
    help="The topic's delete.retention.ms.",
)
@click.option(
    "--min-compaction-lag-ms",
    type=Number("MS"),
    default=0,
    show_default=True,
    help="The topic's min.compaction.lag.ms.",
)
@click.option("--segment-bytes", type=Bytes(), default="1GiB", show_default=True, help="The topic's segment.bytes.")
@click.option("--index-bytes", type=Bytes(), default="10MiB", show_default=True, help="segment.index.bytes.")
@click.option("--now", "now_ms", metavar="TIME", help="When: epoch milliseconds or ISO 8601 (the present).")
@options.max_inflate_option
@options.format_option()
def command(partition: str, records: bool, form: str, now_ms: str | None, **config: Any) -> int:
    """Plan a cleaning of PARTITION, a partition's directory: the dirty range, how far the offset map reaches, what each
    segment would keep and drop and why, the bytes saved, and the memory that one pass needs. Nothing is changed.
    """
    from kidx.cleaner.plan import CleanerOptions, Plan
    from kidx.logdir.tree import Partition
    from kidx.lookup.partition import PartitionReader
    from kidx.report.screens.compaction import show
    from kidx.tables.compaction import record_table, segment_table
    from kidx.text.quantities import timestamp_ms

    now = time.time_ns() // 1_000_000 if now_ms is None else timestamp_ms(now_ms)
    made = Plan(PartitionReader(Partition(partition)), CleanerOptions(**config, now_ms=now))
    return print_table(record_table(made), form) if records else print_table(segment_table(made), form, show)
