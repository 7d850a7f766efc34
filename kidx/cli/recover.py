"""kidx recover: a new log dir from damaged replicas."""

from __future__ import annotations

import click

from kidx.cli import options
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.tier_options import key_file_option
from kidx.cli.values import PATH, Number
from kidx.errors import UsageError
from kidx.report.printing import complain, print_table

_EXAMPLES = options.examples(
    "kidx recover broker1/orders-3 broker2/orders-3 --output recovered",
    "kidx recover --dry-run /mnt/dead1/kafka /mnt/dead2/kafka",
    "kidx recover /mnt/dead1 /mnt/dead2 --output /var/lib/kafka/data --node-id 1",
    "kidx recover orders-3 --output new --topic-id orders=A50OVHlOSvqkZjDaGokI8g",
)


@click.command(short_help="Build a new log dir from what is left of damaged replicas.", epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, type=PATH, metavar="REPLICA...")
@click.option("-o", "--output", type=PATH, metavar="DIR", help="The new log dir; it must not exist, or be empty.")
@click.option("--dry-run", is_flag=True, help="Report what would be taken and what is missing; write nothing.")
@click.option("--cluster-id", metavar="ID", help="The cluster id of the new log dir.  [default: that of the replicas]")
@click.option(
    "--node-id",
    type=Number("N", 0, 2**31 - 1),
    help="The node id of the new log dir.  [default: that of the first replica]",
)
@click.option(
    "--topic-id", "topic_ids", multiple=True, metavar="NAME=ID", help="A topic's id in the cluster that is to take it."
)
@key_file_option
@from_file_option
@options.max_inflate_option
@options.format_option()
def command(
    paths: tuple[str, ...],
    output: str | None,
    dry_run: bool,
    cluster_id: str | None,
    node_id: int | None,
    topic_ids: tuple[str, ...],
    from_file: str | None,
    form: str,
) -> int:
    """Build a log dir that a broker loads without recovery from what is left of one or several replicas.

    A REPLICA is a partition's directory, a log dir, a remote tier, or a directory with several of them. Every batch
    whose CRC holds in one of them is taken, byte for byte: of each range of offsets the copy of the highest leader
    epoch. Indexes, leader-epoch-checkpoint, producer snapshots and the log dir's own files are new. Replicas are only
    read.

    The report says what came from where, what is missing and why. The exit status is 1 where something is missing. A
    run that was interrupted goes on when the same command is given again.
    """
    from kidx.recovery.log_dir import Options
    from kidx.report.screens.progress import ProgressBar
    from kidx.report.screens.recovery import show
    from kidx.tables.recovery import recovery_table

    if output is None and not dry_run:
        raise UsageError("give --output DIR, or --dry-run, which writes nothing")
    asked = Options(cluster_id, node_id, dict(map(_name_and_id, topic_ids)))
    with ProgressBar("partitions") as progress:
        table = recovery_table(paths_from(paths, from_file), None if dry_run else output, asked, complain, progress)
        return print_table(table, form, show)


def _name_and_id(text: str) -> tuple[str, str]:
    name, equals, topic_id = text.partition("=")
    if not (name and equals and topic_id):
        raise UsageError(f"--topic-id {text}: NAME=ID is wanted")
    return name, topic_id
