"""`kidx rocketmq lookup`: a queue offset by time, a unit by offset, messages by key."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from kidx.cli.options import format_option, iso_option
from kidx.cli.rocketmq.options import broker_options, open_asked
from kidx.cli.values import ANY_MS, OFFSET, PATH, Number
from kidx.errors import UsageError
from kidx.report.printing import print_table
from kidx.text.quantities import whole_number


@click.command(
    epilog="""\b
Examples:
  kidx rocketmq lookup store Orders 0 --time 1700000000000 --trace-pages
  kidx rocketmq lookup store Orders 0 --time - --boundary upper < times
  kidx rocketmq lookup store Orders 0 --offset 42
  kidx rocketmq lookup store Orders --key order-1 --begin 1699990000000

Exit status: 0 answered, 3 the real store would throw or not load: the answer is null and the reason is printed."""
)
@click.argument("root", metavar="STORE", type=PATH)
@click.argument("topic")
@click.argument("queue", type=Number("QUEUE", most=2**31 - 1), required=False)
@click.option("--time", "times", multiple=True, metavar="MS", help="Epoch milliseconds; `-`: a line each on stdin.")
@click.option("--offset", "offsets", multiple=True, type=OFFSET, help="A queue offset.")
@click.option("--key", "keys", multiple=True, metavar="TEXT", help="A key (KEYS, UNIQ_KEY; from 5.4.0 T#TAG).")
@click.option(
    "--algorithm",
    type=click.Choice(["classic", "current"]),
    help="The time search up to 5.1.0 (by file times), or since 5.1.1.  [default: as the broker's version]",
)
@click.option(
    "--boundary",
    type=click.Choice(["lower", "upper"]),
    default="lower",
    show_default=True,
    help="current: the first message at or after the time, or the last at or before it.",
)
@click.option(
    "--mtimes",
    type=PATH,
    metavar="FILE",
    help="File times for the classic search: path TAB nanoseconds, a line each.",
)
@click.option("--max", "most", type=Number("N", 1, 2**31 - 1), default=64, show_default=True, help="Answers a key.")
@click.option("--begin", type=ANY_MS, default=0, show_default=True, help="Keys: from this time, epoch ms.")
@click.option("--end", type=ANY_MS, default=2**63 - 1, help="Keys: up to this time, epoch ms.")
@click.option("--trace-pages", is_flag=True, help="Show every probe, the pages it touches, and Kafka's search.")
@broker_options
@format_option()
@iso_option
def command(
    root: str,
    topic: str,
    queue: int | None,
    times: tuple[str, ...],
    offsets: tuple[int, ...],
    keys: tuple[str, ...],
    form: str,
    iso: bool,
    config: str | None,
    commit_log: tuple[str, ...],
    broker_version: str | None,
    algorithm: str | None,
    mtimes: str | None,
    **asked: Any,
) -> int:
    """Search STORE: QUEUE of TOPIC by --time or --offset, or TOPIC without a queue by --key."""
    from kidx.report.screens.rocketmq import show_search
    from kidx.tables.rocketmq.lookups import key_table, offset_table, time_table

    if sum(map(bool, (times, offsets, keys))) != 1 or (queue is None) != bool(keys):
        raise UsageError("ask one kind of question: TOPIC and --key, or TOPIC, QUEUE and either --time or --offset")
    store = open_asked(root, config, commit_log, broker_version, algorithm=algorithm, mtimes=mtimes)
    screen = None
    if keys:
        table = key_table(store, topic, keys, asked["most"], asked["begin"], asked["end"])
    elif offsets:
        table = offset_table(store, topic, queue or 0, offsets)
    else:
        table = time_table(store, topic, queue or 0, _times(times), asked["boundary"], trace=asked["trace_pages"])
        screen = show_search if asked["trace_pages"] and not store.layout.rocksdb else None
    return print_table(table, form, screen, iso=iso)


def _times(given: Iterable[str]) -> Iterator[int]:
    """The times given, and a line each of standard input for `-`."""
    for text in given:
        for line in sys.stdin if text == "-" else (text,):
            if line.strip():
                yield whole_number(line.strip(), "a time in epoch milliseconds")
