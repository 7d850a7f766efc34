"""`kidx rocketmq lookup`: a queue offset by time, a unit by offset, messages by key."""

from __future__ import annotations

from typing import Any

import click

from kidx.cli.options import format_option, iso_option
from kidx.cli.rocketmq.options import broker_options, open_asked
from kidx.cli.values import ANY_MS, OFFSET, Number


@click.command(
    epilog="""\b
Examples:
  kidx rocketmq lookup store Orders 0 --time 1700000000000 --trace-pages
  kidx rocketmq lookup store Orders 0 --time - --boundary upper < times
  kidx rocketmq lookup store Orders 0 --offset 42
  kidx rocketmq lookup store Orders --key order-1 --begin 1699990000000

Exit status: 0 answered, 3 the real store would throw or not load: the answer is null, and the reason is said."""
)
@click.argument("root", metavar="STORE", type=click.Path(readable=False))
@click.argument("topic")
@click.argument("queue", type=Number("QUEUE", most=2**31 - 1), required=False)
@click.option("--time", "times", multiple=True, metavar="MS", help="Epoch milliseconds; `-`: a line each on stdin.")
@click.option("--offset", "offsets", multiple=True, type=OFFSET, help="A queue offset.")
@click.option(
    "--key", "keys", multiple=True, metavar="TEXT", help="A message key (KEYS or UNIQ_KEY; T#TAG for tags, 5.4.0 on)."
)
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
    type=click.Path(readable=False),
    metavar="FILE",
    help="File times for the classic search: path TAB nanoseconds, a line each.",
)
@click.option("--max", "most", type=Number("N", 1, 2**31 - 1), default=64, show_default=True, help="Answers a key.")
@click.option("--begin", type=ANY_MS, default=0, show_default=True, help="Keys: from this time, epoch ms.")
@click.option("--end", type=ANY_MS, default=2**63 - 1, help="Keys: up to this time, epoch ms.")
@click.option("--trace-pages", is_flag=True, help="Show every probe and the pages it touches; Kafka's beside them.")
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
    """Ask STORE for TOPIC's queue QUEUE: by --time, by --offset, or TOPIC without a queue by --key."""
    from kidx import exit_status
    from kidx.cli.messages import complain
    from kidx.errors import UsageError, meant
    from kidx.rocketmq.kinds import RocksDbQueues
    from kidx.rocketmq.log_queues import NOTE
    from kidx.tables.rocketmq.lookups import key_table, offset_table, time_table

    if sum(map(bool, (times, offsets, keys))) != 1:
        raise UsageError("ask one kind of question: --time, --offset or --key")
    if (queue is None) != bool(keys):
        raise UsageError("--key wants TOPIC alone; --time and --offset want TOPIC and QUEUE")
    store = open_asked(root, config, commit_log, broker_version, algorithm=algorithm, mtimes=mtimes)
    if store.layout.rocksdb and offsets:
        raise RocksDbQueues(
            f"{root}: the queues are in RocksDB (5.2 on), which kidx does not read, so no unit can be shown"
        )
    if store.layout.rocksdb and not keys:
        complain(NOTE)
    failed: list[str] = []
    if keys:
        table = key_table(store, topic, keys, asked["most"], asked["begin"], asked["end"])
    elif offsets:
        table = offset_table(store, topic, queue or 0, offsets)
    else:
        if store.queue(topic, queue or 0) is None:
            near = meant(topic, {name for name, _ in store.names()} - {topic})
            complain(
                f"{root}: there is no queue {topic}/{queue} in it; the answer is a broker's, which makes one{near}"
            )
        table = time_table(store, topic, queue or 0, times, asked["boundary"], asked["trace_pages"], failed)
    if form == "text" and times and asked["trace_pages"] and not store.layout.rocksdb:
        from kidx.report.screens.rocketmq import show_search

        show_search(table)
    else:
        from kidx.report.formats.render import render

        render(table, form, iso=iso)
    for sentence in failed:
        complain(sentence)
    return exit_status.UNREADABLE if failed else exit_status.CLEAN
