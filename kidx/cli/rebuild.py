"""`kidx rebuild`: rebuild indexes from the log, as a broker's recovery does."""

from __future__ import annotations

import click

from kidx.cli.messages import complain
from kidx.cli.options import examples, format_option, from_file_option, paths_from
from kidx.cli.values import JOBS, Bytes
from kidx.cli.writing import carry_out_steps, dry_run_option
from kidx.errors import KidxError, UsageError
from kidx.execution import usual_jobs
from kidx.formats.indexes import DEFAULT_INDEX_INTERVAL_BYTES, DEFAULT_MAX_INDEX_BYTES


@click.command(
    short_help="Rebuild indexes from the log.",
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
    help="Write DIR/<partition>/<file>; the broker's directories stay as they are.",
)
@click.option("--in-place", is_flag=True, help="Replace the indexes in place; the old ones are kept (kidx undo).")
@click.option(
    "--index-interval-bytes",
    type=Bytes(most=2**31 - 1),
    default=DEFAULT_INDEX_INTERVAL_BYTES,
    show_default=True,
    help="The topic's index.interval.bytes.",
)
@click.option(
    "--max-index-size",
    type=Bytes(12, 2**31 - 1),
    default=DEFAULT_MAX_INDEX_BYTES,
    show_default=True,
    help="The topic's segment.index.bytes.",
)
@click.option("--jobs", type=JOBS, help="Number of processes.  [default: 2, at most one for each CPU]")
@from_file_option
@dry_run_option
@format_option()
def command(
    paths: tuple[str, ...],
    output: str | None,
    in_place: bool,
    index_interval_bytes: int,
    max_index_size: int,
    jobs: int | None,
    from_file: str | None,
    dry_run: bool,
    form: str,
) -> int:
    """Rebuild the offset, time and transaction indexes of segments from their logs, byte for byte as a broker's
    recovery does, without a broker.

    A PATH is a segment (its .log or an index), a partition, or a log dir. Give --output or --in-place; or --dry-run,
    which compares with the existing indexes, entry by entry. A log that is broken at some byte is indexed up to there,
    and a message says so. The log itself is never changed.
    """
    from kidx.surgery.steps import rebuild_steps

    if not dry_run and (output is None) == (not in_place):
        raise UsageError("name a place for the indexes: --output DIR, or --in-place (--dry-run writes nothing)")
    failures: list[KidxError] = []

    def on_failure(e: KidxError) -> None:
        complain(str(e))
        failures.append(e)

    steps = rebuild_steps(
        paths_from(paths, from_file),
        output,
        on_failure,
        interval_bytes=index_interval_bytes,
        max_index_size=max_index_size,
        jobs=jobs or usual_jobs(),
    )
    return max([carry_out_steps(steps, form, dry_run), *(e.exit_status for e in failures)])
