"""`kidx rebuild`: make indexes anew from the log, as a broker's recovery does."""

from __future__ import annotations

import click

from kidx.cli.options import dry_run_option, examples, format_option, from_file_option, paths_from
from kidx.cli.rebuild_run import rebuild_paths
from kidx.cli.values import JOBS, Bytes
from kidx.formats.indexes import DEFAULT_MAX_INDEX_BYTES


@click.command(
    short_help="Make indexes anew from the log.",
    epilog=examples(
        "kidx rebuild /var/lib/kafka/data/orders-3 --output fixed",
        "kidx rebuild --dry-run orders-3/00000000000000004117.log",
        "kidx rebuild --in-place --index-interval-bytes 4096 orders-3",
    ),
)
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="PATH...")
@click.option(
    "--output",
    type=click.Path(readable=False),
    metavar="DIR",
    help="Write DIR/<partition>/<file>, beside nothing of the broker's.",
)
@click.option(
    "--in-place",
    is_flag=True,
    help="Replace the indexes that are wrong or missing where they are; the old ones are kept (kidx undo).",
)
@click.option("--all", "every", is_flag=True, help="With --in-place: replace the sound ones, too.")
@click.option(
    "--index-interval-bytes",
    type=Bytes(most=2**31 - 1),
    help="The topic's index.interval.bytes.  [default: by the topic's configuration in __cluster_metadata, else by the "
    "spacing of the entries that are intact, else 4096]",
)
@click.option(
    "--max-index-size",
    type=Bytes(12, 2**31 - 1),
    default=DEFAULT_MAX_INDEX_BYTES,
    show_default=True,
    help="The topic's segment.index.bytes.",
)
@click.option("--jobs", type=JOBS, help="How many processes.  [default: 2, at most one a CPU]")
@from_file_option
@dry_run_option
@format_option()
def command(
    paths: tuple[str, ...],
    output: str | None,
    in_place: bool,
    every: bool,
    index_interval_bytes: int | None,
    max_index_size: int,
    jobs: int | None,
    from_file: str | None,
    dry_run: bool,
    form: str,
) -> int:
    """Make the offset, time and transaction index of segments anew from their logs, without a broker.

    The result is byte for byte what the recovery of a broker of 2.0 to 4.3 writes with the same index.interval.bytes;
    older ones name a batch's first offset in an entry, where these name its last, and read either. In compacted
    segments 1.0 to 2.4 write other first offsets into transaction indexes.

    A PATH is a segment (its .log or an index), a partition, or a log dir. Exactly one of --output, which gets the whole
    set, and --in-place is wanted, except with --dry-run, which compares with the indexes that are there, entry by
    entry. A log that breaks off is indexed up to there, and the output says so; the log itself is never touched.
    """
    return rebuild_paths(
        paths_from(paths, from_file),
        output=output,
        in_place=in_place,
        every=every,
        dry_run=dry_run,
        jobs=jobs,
        interval_bytes=index_interval_bytes,
        max_index_size=max_index_size,
        form=form,
    )
