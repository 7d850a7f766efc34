"""Options of `kidx dump` that only some kinds of files or formats have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kidx.cli.decoders import DECODERS, topic_family
from kidx.cli.values import ANY_NUMBER, Bytes

F = TypeVar("F", bound=Callable[..., Any])


def kafka_options(f: F) -> F:
    """DumpLogSegments' own options, with their meaning there."""
    for word, topic, family in reversed(DECODERS):
        said = f"kafka: decode records of {topic}."
        f = click.option(f"--{word}-decoder", "decoder", flag_value=family, help=said)(f)
    for option in (
        click.option("--index-sanity-check", is_flag=True, help="kafka: only a broker's sanity check of indexes."),
        click.option("--verify-index-only", is_flag=True, help="kafka: compare indexes with logs, print no entries."),
        click.option(
            "--max-bytes",
            type=Bytes(most=2**31 - 1),
            default=2**31 - 1,
            help="kafka: only a log's first N bytes.",
        ),
        click.option(
            "--skip-record-metadata", is_flag=True, help="kafka: without records' offsets, sizes and headers."
        ),
        click.option("--deep-iteration", is_flag=True, help="kafka: a log's records too."),
        click.option("--print-data-log", is_flag=True, help="kafka: a log's records with keys and values."),
    ):
        f = option(f)
    return f


def log_options(f: F) -> F:
    """What is asked of logs alone."""
    for option in (
        click.option("--leader-epoch", type=ANY_NUMBER, help="Logs: only batches of this leader epoch."),
        click.option("--producer-epoch", type=ANY_NUMBER, help="Logs: only of this producer epoch."),
        click.option("--producer-id", type=ANY_NUMBER, help="Logs: only of this producer."),
        click.option("--key", metavar="TEXT", help="Logs: only records with this key; implies --records."),
        click.option("--redact", is_flag=True, help="Lengths and hashes instead of keys, values and headers."),
        click.option(
            "--show",
            type=click.Choice(["text", "hex", "base64"]),
            help="How to show keys, values and headers. [default: text for people, hex for programs]",
        ),
        click.option("--records", is_flag=True, help="Logs: records instead of batches."),
        click.option("--decode", is_flag=True, help="Logs of Kafka's own topics: what each record says."),
        click.option(
            "--decoder",
            "topic_family",
            callback=topic_family,
            metavar="TOPIC",
            help="Decode as records of this topic (offsets, cluster-metadata, ...), whatever the directory is called.",
        ),
    ):
        f = option(f)
    return f
