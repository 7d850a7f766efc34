"""`kidx state`: the state in Kafka's own topics, replayed from their records."""

from __future__ import annotations

from functools import partial

import click

from kidx.cli import options
from kidx.cli.choices import OneOf
from kidx.cli.decoders import DECODERS, topic_family
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.values import PATH
from kidx.errors import UsageError
from kidx.report.printing import print_table

RESETS = "reset-offsets"  # what kafka-consumer-groups.sh --reset-offsets --from-file reads
_EXAMPLES = """
\b
Examples:
  kidx state /var/lib/kafka/data/__consumer_offsets-17 --kind committed_offset
  kidx state __consumer_offsets-17 --at 2026-11-17T10:00:00Z --format jsonl
  kidx state __cluster_metadata-0 --diff 4100 4200
  kidx state /var/lib/kafka/data --group billing --format reset-offsets
  kidx state --quorum controller1 controller2 controller3
  kidx state broker1 broker2 broker3 --transactional-id payments-4
"""


def known_kinds() -> list[str]:
    """Kinds of facts of all the topics."""
    from kidx.state.replay import kinds_of

    return sorted({kind for *_, family in DECODERS for kind in kinds_of(family)})


@click.command(epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH...")
@from_file_option
@click.option("--group", help="Only facts of this consumer group or share group.")
@click.option("--transactional-id", metavar="ID", help="Only facts of this transactional id.")
@click.option("--topic", help="Only facts about this topic.")
@click.option("--at", metavar="OFFSET|TIME", help="At that moment: before an offset, or up to an ISO 8601 time.")
@click.option("--diff", nargs=2, metavar="A B", help="What changed between two such moments.")
@click.option("--kind", "kinds", multiple=True, type=OneOf("KIND", known_kinds), help="Only this kind; repeatable.")
@click.option("--decoder", callback=topic_family, metavar="TOPIC", help="Which topic it is, if no name says so.")
@click.option("--quorum", is_flag=True, help="Compare copies of __cluster_metadata-0: which one is the best seed.")
@options.max_inflate_option
@options.iso_option
@options.format_option(RESETS)
def command(
    paths: tuple[str, ...],
    from_file: str | None,
    at: str | None,
    diff: tuple[str, str] | None,
    kinds: tuple[str, ...],
    decoder: str | None,
    quorum: bool,
    iso: bool,
    form: str,
    **asked: str | None,
) -> int:
    """Print the state at a moment, from copies of __consumer_offsets, __transaction_state, __share_group_state,
    __remote_log_metadata or __cluster_metadata: committed offsets, groups, transactions; remote segments; topics,
    partitions, leaders, brokers, configurations, features, quotas. Aborted offset commits are ignored, tombstones are
    applied.

    PATH is a partition's directory, a log dir, or a tree of them. Of several replicas of a partition the one that ends
    last is read. Where the logs are below the paths, too, committed offsets are compared with their bounds.
    """
    from kidx.state.internal_topics import LogDirs, Question
    from kidx.state.replay import kinds_of, state_at
    from kidx.tables.state import Replayed, difference_table, fact_table, parse_moment

    if diff and (at or form == RESETS):
        raise UsageError("--diff is about two moments; it cannot be combined with --at or --format reset-offsets")
    expanded = paths_from(paths, from_file)
    if quorum:
        if at or diff or kinds or decoder or any(asked.values()):
            raise UsageError("--quorum compares whole logs; it cannot be combined with options that choose facts")
        from kidx.report.screens import quorum as screen
        from kidx.tables.quorum import quorum_table

        return print_table(quorum_table(expanded), form, screen.show)
    question = Question(**asked)
    log_dirs = LogDirs(expanded)
    partitions = log_dirs.partitions_for(question, decoder)
    known = sorted({kind for _, family in partitions for kind in kinds_of(family)})
    unknown = sorted({*kinds} - {*known})
    if unknown:
        raise UsageError(f"--kind {unknown[0]}: no such kind in this topic; choose {', '.join(known)}")
    moments = [parse_moment(text, several=len(partitions) > 1) for text in (diff or (at,))]
    states = [[Replayed(p, state_at(p, family, moment)) for p, family in partitions] for moment in moments]
    what = log_dirs, question, kinds
    table = difference_table(states[0], states[1], *what) if diff else fact_table(states[0], *what)
    from kidx.report.screens.state import show, write_resets

    if form == RESETS:
        return print_table(table, "text", write_resets)
    return print_table(table, form, partial(show, iso=iso), iso=iso)
