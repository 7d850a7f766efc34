"""kidx startup: what a broker does at its next start."""

from __future__ import annotations

import sys

import click

from kidx.cli import options
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.values import PATH, Bytes
from kidx.report.printing import show_table

_EXAMPLES = options.examples(
    "kidx startup /var/lib/kafka/data",
    "kidx startup /disk1/kafka /disk2/kafka --broker-version 3.9.1",
    "kidx startup /var/lib/kafka/data --rate 200MiB",
    "kidx startup /var/lib/kafka/data --format jsonl | grep '\"truncate\"'",
)


@click.command(epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, type=PATH, metavar="LOGDIR...")
@from_file_option
@click.option(
    "--broker-version",
    "version",
    metavar="VERSION",
    help="The broker's version (the latest known); one that is not known is taken for the nearest that is.",
)
@click.option("--rate", type=Bytes(1), help="Bytes that the broker reads a second, to tell how long it takes.")
@options.format_option()
def command(paths: tuple[str, ...], from_file: str | None, version: str | None, rate: int | None, form: str) -> int:
    """Predict what a broker does at its next start on its log dirs, from the files alone: whether it refuses, which log
    dirs go offline, what it recovers, cuts, deletes and renames, where each log begins and ends, what is lost.

    Give all log dirs of one broker. Nothing is changed. `--format csv` has the actions only.
    """
    from kidx.report.formats.render import json_envelope, render
    from kidx.report.screens.startup import show
    from kidx.tables.startup import startup_tables

    tables = startup_tables(paths_from(paths, from_file), version, rate)

    def print_all(_: object) -> None:
        if form == "text":
            show(tables)
        elif form == "json":
            json_envelope("kidx.startup.v1", tables[:2], tables.summary, sys.stdout)
        else:
            render(tables.actions, form)
            if form != "csv":
                render(tables.partitions, form)

    return show_table(tables.partitions, print_all)
