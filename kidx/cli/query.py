"""`kidx query`: SQL over logs and indexes."""

from __future__ import annotations

import click

from kidx.cli import options
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.tier_options import tier_options
from kidx.cli.values import PATH
from kidx.report.printing import show_table

_EXAMPLES = options.examples(
    "kidx query 'SELECT count(*), sum(length(value)) FROM records' orders-3",
    "kidx query 'SELECT topic, sum(size) FROM batches GROUP BY topic' /kafka/data",
    "kidx query 'SELECT key, count(*) FROM records GROUP BY key' 'data/orders-*'",
    "kidx query 'FROM records WHERE \"offset\" > 4118000' --output t.csv data",
    "kidx query 'SELECT * FROM findings' --master spark://host:7077 /mnt/brokers",
)


@click.command(epilog=_EXAMPLES)
@click.argument("sql", metavar="SQL")
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH...")
@from_file_option
@options.format_option()
@click.option(
    "--output",
    type=PATH,
    metavar="FILE",
    help="Write the rows to a new file: .parquet, .arrow, .csv or .jsonl.",
)
@click.option("--master", metavar="URL", help="Run the query in Spark: spark://HOST:PORT, local[N], yarn, k8s://URL.")
@tier_options
@options.max_inflate_option
def command(
    sql: str,
    paths: tuple[str, ...],
    from_file: str | None,
    form: str,
    output: str | None,
    master: str | None,
    remote: tuple[str, ...],
) -> int:
    """Run SQL over the logs and indexes below PATH: in DuckDB, or with --master in Spark.

    Tables: records, decoded_records (of Kafka's own topics), batches, offset_index, time_index, transaction_index,
    segments, findings. DESCRIBE TABLE shows a table's columns. `offset` is a word of SQL: write "offset". Only the
    columns and, by the indexes, the offsets and times that a query asks for are read. Replicas are not merged: each
    row has its file.

    Damaged batches are left out of records and reported. Exit status: 0, 1 if something was damaged, 3 if something
    could not be read.
    """
    from kidx.report.formats.render import render
    from kidx.segments.arrow_records import arrow
    from kidx.sql.engines import open_query
    from kidx.sql.outcome import Outcome
    from kidx.surgery.output import refuse_file

    expanded, outcome = paths_from(paths + remote, from_file), Outcome()
    if output is not None:
        refuse_file(output)
    arrow()  # says what is missing, before a module imports it
    from kidx.sql.result import result_table, write_result

    with open_query(sql, expanded, outcome, master) as result:
        table = result_table(result.schema, result, outcome.notes)
        if output is None:
            return show_table(table, lambda rows: render(rows, form))
        return show_table(table, lambda rows: write_result(result, rows, output))
