"""`kidx rocketmq dump`: what is in a store's files."""

from __future__ import annotations

import click

from kidx.cli.options import format_option, iso_option
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.values import PATH

_KINDS = ("queue", "batch_queue", "ext", "messages", "index", "index_header", "checkpoint", "abort")


@click.command(
    epilog="""\b
Examples:
  kidx rocketmq dump store/consumequeue/Orders/0
  kidx rocketmq dump --iso store/commitlog/00000000000000000000
  kidx rocketmq dump --format jsonl --body store/commitlog
  kidx rocketmq dump --kind index_header store
  kidx rocketmq dump --config broker.conf store/index"""
)
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH...")
@from_file_option
@click.option(
    "--kind", type=click.Choice(_KINDS), help="The kind of a file whose place does not show it; or print only these."
)
@click.option("--body", "bodies", is_flag=True, help="Messages: print the body too, as stored.")
@click.option(
    "--config",
    type=PATH,
    metavar="FILE",
    help="The broker's properties, for an index file's slots and entries.",
)
@format_option()
@iso_option
def command(
    paths: tuple[str, ...],
    from_file: str | None,
    kind: str | None,
    bodies: bool,
    config: str | None,
    form: str,
    iso: bool,
) -> int:
    """Print PATH, a store's file or every file below a directory: units, messages, index entries, checkpoint, abort.

    Every complete entry is shown as stored, up to a zero tail; use verify to check them.
    """
    from kidx import exit_status
    from kidx.errors import CannotRead, KidxError
    from kidx.report.formats.printer import Printer
    from kidx.report.printing import complain, show_table
    from kidx.rocketmq.config import read_config
    from kidx.rocketmq.file_kinds import MESSAGES, files_of
    from kidx.tables.rocketmq.files import table_of
    from kidx.tables.rocketmq.messages import screen_table

    settings, given = read_config(config), paths_from(paths, from_file)
    files = [found for path in given for found in files_of(path, kind)]
    if not files:
        raise CannotRead(f"{', '.join(given)}: no file of a RocketMQ store is in it")
    printer = Printer(form, iso=iso, headings=len(files) > 1, any_schema="kidx.rocketmq_dump.v1")
    status = exit_status.CLEAN
    for found in files:
        try:
            if isinstance(found, KidxError):
                raise found
            table = table_of(*found, settings, bodies=bodies)
            short = found[1] == MESSAGES and form in ("text", "table")
            status = max(status, show_table(screen_table(table) if short else table, printer.print))
        except KidxError as e:
            complain(str(e))
            status = max(status, e.exit_status)
    printer.close()
    return status
