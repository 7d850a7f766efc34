"""`kidx state`: the state in Kafka's own topics, replayed from their records."""

from __future__ import annotations

from functools import partial

import click

from kidx.cli import options
from kidx.cli.choices import OneOf
from kidx.cli.decoders import DECODERS, topic_family
from kidx.report.printing import print_table

_EXAMPLES = """
\b
Examples:
  kidx state /var/lib/kafka/data/__consumer_offsets-17 --kind committed_offset
  kidx state __consumer_offsets-17 --at 2026-11-17T10:00:00Z --format jsonl
  kidx state __cluster_metadata-0 --kind partition --kind broker
  kidx state __cluster_metadata-0 --diff 4100 4200
"""


def known_kinds() -> list[str]:
    """Kinds of facts of all the topics."""
    from kidx.state.replay import kinds_of

    return sorted({kind for *_, family in DECODERS for kind in kinds_of(family)})


@click.command(epilog=_EXAMPLES)
@click.argument("partition", type=click.Path(readable=False))
@click.option("--at", metavar="OFFSET|TIME", help="At that moment: before an offset, or up to an ISO 8601 time.")
@click.option("--diff", nargs=2, metavar="A B", help="What changed between two such moments.")
@click.option(
    "--kind", "kinds", multiple=True, type=OneOf("KIND", known_kinds), help="Only facts of this kind; may be repeated."
)
@click.option(
    "--decoder", callback=topic_family, metavar="TOPIC", help="Which topic it is, whatever the directory is called."
)
@options.max_inflate_option
@options.iso_option
@options.format_option()
def command(
    partition: str,
    at: str | None,
    diff: tuple[str, str] | None,
    kinds: tuple[str, ...],
    decoder: str | None,
    iso: bool,
    form: str,
) -> int:
    """Print the state at a moment, from a copy of one directory of __consumer_offsets, __transaction_state,
    __share_group_state, __remote_log_metadata or __cluster_metadata: committed offsets, groups, transactions; remote
    segments; topics, partitions, leaders, brokers, configurations, features, quotas. Aborted offset commits are
    ignored, tombstones are applied.
    """
    from kidx.errors import UsageError
    from kidx.logdir.tree import Partition
    from kidx.state.replay import family_of, kinds_of, state_at
    from kidx.tables.state import difference_table, fact_table, parse_moment

    if at and diff:
        raise UsageError("--at and --diff cannot be combined; run kidx state twice")
    directory = Partition(partition)
    family = family_of(directory, decoder)
    unknown = sorted({*kinds} - {*kinds_of(family)})
    if unknown:
        raise UsageError(f"--kind {unknown[0]}: no such kind in this topic; choose {', '.join(kinds_of(family))}")
    states = [state_at(directory, family, parse_moment(text)) for text in (diff or (at,))]
    if diff:
        table = difference_table(partition, states[0], states[1], kinds)
    else:
        table = fact_table(partition, states[0], kinds)
    from kidx.report.screens.state import show

    return print_table(table, form, partial(show, iso=iso), iso=iso)
