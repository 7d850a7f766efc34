"""`kidx rebuild`: make indexes anew from the log, as a broker's recovery does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import click

from kidx.cli import complain
from kidx.cli.options import examples, format_option, from_file_option, paths_from
from kidx.cli.values import JOBS, Bytes
from kidx.cli.writing import Step, carry_out_steps, dry_run_option
from kidx.errors import KidxError, UsageError


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
@click.option("--in-place", is_flag=True, help="Replace the indexes where they are; the old ones are kept (kidx undo).")
@click.option(
    "--index-interval-bytes",
    type=Bytes(most=2**31 - 1),
    default=4096,
    show_default=True,
    help="The topic's index.interval.bytes.",
)
@click.option(
    "--max-index-size",
    type=Bytes(12, 2**31 - 1),
    default=10485760,
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
    index_interval_bytes: int,
    max_index_size: int,
    jobs: int | None,
    from_file: str | None,
    dry_run: bool,
    form: str,
) -> int:
    """Make the offset, time and transaction index of segments anew from their logs, byte for byte as a broker's
    recovery would, without one.

    A PATH is a segment (its .log or an index), a partition, or a log dir. Exactly one of --output and --in-place is
    wanted, except with --dry-run, which compares with the indexes that are there, entry by entry. A log that breaks off
    is indexed up to there and said so; the log itself is never touched.
    """
    from kidx.forks import cpu_count

    if not dry_run and (output is None) == (not in_place):
        raise UsageError("say where the indexes go: --output DIR, or --in-place (or --dry-run, which writes nothing)")
    failures: list[KidxError] = []
    sizes = (index_interval_bytes, max_index_size, jobs or min(2, cpu_count()))
    steps = _steps(paths_from(paths, from_file), output, sizes, failures)
    status = carry_out_steps(steps, form, dry_run)
    return max([status, *(e.exit_status for e in failures)])


def _steps(
    paths: list[str], output: str | None, sizes: tuple[int, int, int], failures: list[KidxError]
) -> Iterator[Step]:
    from kidx.surgery.journal import new_run
    from kidx.surgery.rebuild import changes_apart, changes_in_place, rebuild, targets_of
    from kidx.surgery.replace import carry_out, create_apart

    run = new_run()
    for path in paths:
        targets = targets_of(path)
        while True:
            try:
                target = next(targets, None)
                if target is None:
                    break
                rebuilt = rebuild(target, *sizes)
                base, log = target.segment.base_offset, rebuilt.log_path
                if output is None:
                    for change in changes_in_place(rebuilt):
                        yield Step(change, base, partial(carry_out, change, run, like=log), rebuilt.said)
                else:
                    for change in changes_apart(rebuilt, output):
                        yield Step(change, base, partial(create_apart, change.path, change.after or b""), rebuilt.said)
            except KidxError as e:
                complain(str(e))
                failures.append(e)
