"""`kidx rebuild`: rebuild indexes from the log, as a broker's recovery does."""

from __future__ import annotations

from itertools import chain

import click

from kidx.cli.options import examples, format_option, max_inflate_option
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.values import JOBS, PATH, Bytes
from kidx.cli.writing import Failures, carry_out_steps, dry_run_option
from kidx.errors import UsageError
from kidx.execution import usual_jobs
from kidx.formats.indexes import DEFAULT_MAX_INDEX_BYTES
from kidx.report.printing import complain


@click.command(
    short_help="Rebuild indexes from the log.",
    epilog=examples(
        "kidx rebuild /var/lib/kafka/data/orders-3 --output fixed",
        "kidx rebuild --in-place --index-interval-bytes 4096 orders-3",
        "kidx rebuild --in-place /data/orders-3/leader-epoch-checkpoint",
    ),
)
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH...")
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="DIR",
    help="Write DIR/<partition>/<file>; the broker's files stay as they are.",
)
@click.option("--in-place", is_flag=True, help="Replace what is wrong or missing in place; kidx undo reverts it.")
@click.option("--all", "every", is_flag=True, help="With --in-place: replace the sound ones, too.")
@click.option(
    "--index-interval-bytes",
    type=Bytes(most=2**31 - 1),
    help="The topic's index.interval.bytes.  [default: from the topic's configuration in __cluster_metadata, else from "
    "the spacing of the intact entries, else 4096]",
)
@click.option(
    "--max-index-size",
    type=Bytes(12, 2**31 - 1),
    default=DEFAULT_MAX_INDEX_BYTES,
    show_default=True,
    help="The topic's segment.index.bytes.",
)
@click.option("--state-files", is_flag=True, help="Also leader epochs, producer snapshots and log dirs' checkpoints.")
@click.option("-j", "--jobs", type=JOBS, help="Number of processes.  [default: 2, at most one for each CPU]")
@from_file_option
@max_inflate_option
@dry_run_option
@format_option()
def command(
    paths: tuple[str, ...],
    output: str | None,
    in_place: bool,
    every: bool,
    index_interval_bytes: int | None,
    max_index_size: int,
    state_files: bool,
    jobs: int | None,
    from_file: str | None,
    dry_run: bool,
    form: str,
) -> int:
    """Rebuild the offset, time and transaction indexes of segments from their logs, without a broker.

    The result is byte for byte that of the recovery of brokers 2.0 to 4.3 with the same index.interval.bytes. Older
    ones index a batch's first offset instead of its last, and 1.0 to 2.4 other aborts of compacted segments.

    A PATH is a segment (its .log or an index), a partition, or a log dir; or a state file (see --state-files), which
    comes back as a recovery of the whole log writes it. Give --output, for the whole set, or --in-place; or --dry-run,
    which compares entry by entry. A log that breaks off is followed up to there, with a message, and never changed.
    """
    from kidx.checks.sound_indexes import sound_indexes
    from kidx.state.metadata import cluster_of
    from kidx.surgery.index_interval import IntervalFinder
    from kidx.surgery.state_steps import StateSteps
    from kidx.surgery.steps import rebuild_steps

    if not dry_run and (output is None) == (not in_place):
        raise UsageError("name a place for the indexes: --output DIR, or --in-place (--dry-run writes nothing)")
    if every and not in_place:
        raise UsageError("--all belongs to --in-place; --output always writes all indexes")
    failures = Failures()
    given = paths_from(paths, from_file)
    index_steps = rebuild_steps(
        given,
        output,
        failures,
        interval_of=IntervalFinder(cluster_of, index_interval_bytes, complain),
        sound_indexes=sound_indexes if in_place and not every else None,
        max_index_size=max_index_size,
        jobs=jobs or usual_jobs(),
    )
    state_steps = StateSteps(output, failures, cluster_of, every=every).steps(given, below_directories=state_files)
    return max(carry_out_steps(chain(index_steps, state_steps), form, dry_run), failures.status)
