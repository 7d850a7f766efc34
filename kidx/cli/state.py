"""`kidx state`: the state in Kafka's own topics, replayed from their records."""

from __future__ import annotations

from functools import partial

import click

from kidx.cli import options
from kidx.cli.choices import OneOf
from kidx.cli.decoders import DECODERS, topic_family
from kidx.cli.paths import from_file_option, paths_from
from kidx.report.printing import print_table

_EXAMPLES = """
\b
Examples:
  kidx state /var/lib/kafka/data/__consumer_offsets-17 --kind committed_offset
  kidx state __consumer_offsets-17 --at 2026-11-17T10:00:00Z --format jsonl
  kidx state __cluster_metadata-0 --kind partition --kind broker
  kidx state __cluster_metadata-0 --diff 4100 4200
  kidx state /var/lib/kafka/data --group billing
  kidx state broker1 broker2 broker3 --transactional-id payments-4
"""


def known_kinds() -> list[str]:
    """Kinds of facts of all the topics."""
    from kidx.state.replay import kinds_of

    return sorted({kind for *_, family in DECODERS if family != "remote" for kind in kinds_of(family)})


@click.command(epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="PATH...")
@from_file_option
@click.option("--group", help="Only facts of this consumer group or share group.")
@click.option("--transactional-id", metavar="ID", help="Only facts of this transactional id.")
@click.option("--topic", help="Only facts about this topic.")
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
    paths: tuple[str, ...],
    from_file: str | None,
    at: str | None,
    diff: tuple[str, str] | None,
    kinds: tuple[str, ...],
    decoder: str | None,
    iso: bool,
    form: str,
    **asked: str | None,
) -> int:
    """Print the state at a moment, from copies of __consumer_offsets, __transaction_state, __share_group_state or
    __cluster_metadata: committed offsets, groups, transactions; topics, partitions, leaders, brokers, configurations,
    features, quotas. Aborted offset commits are ignored, tombstones are applied.

    PATH is a partition's directory, a log dir, or a tree of them. Of several replicas of a partition the one that ends
    last is read. Where the logs are below the paths, too, committed offsets are compared with their bounds.
    """
    from kidx.errors import UsageError
    from kidx.state.internal_topics import LogDirs, Question
    from kidx.state.replay import kinds_of, state_at
    from kidx.tables.state import Replayed, difference_table, fact_table, parse_moment

    if at and diff:
        raise UsageError("--at and --diff cannot be combined; run kidx state twice")
    question = Question(**asked)
    log_dirs = LogDirs(paths_from(paths, from_file))
    partitions = log_dirs.partitions_for(question, decoder)
    known = sorted({kind for _, family in partitions for kind in kinds_of(family)})
    unknown = sorted({*kinds} - {*known})
    if unknown:
        raise UsageError(f"--kind {unknown[0]}: no such kind in this topic; choose {', '.join(known)}")
    moments = [parse_moment(text, several=len(partitions) > 1) for text in (diff or (at,))]
    states = [[Replayed(p, state_at(p, family, moment)) for p, family in partitions] for moment in moments]
    if diff:
        table = difference_table(states[0], states[1], log_dirs, question, kinds)
    else:
        table = fact_table(states[0], log_dirs, question, kinds)
    from kidx.report.screens.state import show

    return print_table(table, form, partial(show, iso=iso), iso=iso)
