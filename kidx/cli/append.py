"""`kidx append`: append entries as Kafka's classes do, all or none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from kidx.cli.commands import TakesNegativeNumbers
from kidx.cli.options import base_offset_option, examples, format_option
from kidx.cli.paths import lines_of
from kidx.cli.values import PATH, Bytes
from kidx.cli.writing import carry_out_steps, dry_run_option
from kidx.errors import UsageError

if TYPE_CHECKING:
    from kidx.surgery.index_file import IndexFile


@click.command(
    cls=TakesNegativeNumbers,
    short_help="Append entries to an index.",
    epilog=examples(
        "kidx append 00000000000000004117.index 4711:345000",
        "kidx append --create 00000000000000000000.index 23:1185 28:2242",
        "kidx dump --format csv 00000000000000004117.index | head -5 > first.csv",
        "kidx append --create copy/00000000000000004117.index - < first.csv",
    ),
)
@click.argument("file", type=PATH)
@click.argument("entries", nargs=-1, required=True, metavar="ENTRY...")
@click.option("--create", is_flag=True, help="Create a new file.")
@click.option(
    "--max-index-size",
    type=Bytes(most=2**31 - 1),
    help="The largest size of the index, rounded down to complete entries  [default for --create: 10485760].",
)
@click.option("--keep-allocated", is_flag=True, help="Leave the file preallocated, as a running broker does.")
@click.option("--on-roll", is_flag=True, help="Use the time index's last slot, reserved for the segment's roll.")
@base_offset_option
@dry_run_option
@format_option()
def command(
    file: str,
    entries: tuple[str, ...],
    create: bool,
    max_index_size: int | None,
    keep_allocated: bool,
    on_roll: bool,
    base_offset: int | None,
    dry_run: bool,
    form: str,
) -> int:
    """Append entries to an index, exactly as Kafka does or not at all.

    An ENTRY is OFFSET:POSITION (.index), TIMESTAMP:OFFSET (.timeindex) or PRODUCER:FIRST:LAST:LAST_STABLE (.txnindex);
    `-` reads entries from standard input: the JSON lines or CSV that `kidx dump` prints.

    Refused, with nothing written: a full index, an offset or timestamp out of order, an offset or position that does
    not fit. An equal timestamp is silently ignored, as in Kafka. In a preallocated file the new entries go directly
    after the last one. The old file is kept; `kidx undo FILE` restores it.
    """
    from kidx.surgery.append import plan_append
    from kidx.surgery.index_file import load_index
    from kidx.surgery.steps import index_step

    index = load_index(file, base_offset, missing_is_fine=create)
    if create and index.data is not None:
        raise UsageError(f"{file}: the file exists; omit --create to append to it")
    given = list(_read_all(index, entries))
    if not given:
        raise UsageError("standard input has no entries; nothing to append")
    change = plan_append(index, given, max_index_size=max_index_size, keep_allocated=keep_allocated, on_roll=on_roll)
    return carry_out_steps([index_step(change, index.base_offset)], form, dry_run)


def _read_all(index: IndexFile, entries: tuple[str, ...]) -> Iterator[tuple[int, ...]]:
    from kidx.surgery.append import parse_entry
    from kidx.surgery.read_entries import entries_from_lines

    for text in entries:
        if text == "-":
            yield from entries_from_lines(index, lines_of("-"), "standard input")
        else:
            yield parse_entry(index, text)
