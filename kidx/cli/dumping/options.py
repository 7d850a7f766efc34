"""Options of `kidx dump` that only some kinds of files or formats have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def kafka_options(f: F) -> F:
    """DumpLogSegments' own options, with their meaning there."""
    for option in (
        click.option("--index-sanity-check", is_flag=True, help="kafka: only a broker's sanity check of indexes."),
        click.option("--verify-index-only", is_flag=True, help="kafka: compare indexes with logs, print no entries."),
        click.option(
            "--max-bytes",
            type=click.IntRange(0, 2**31 - 1),
            default=2**31 - 1,
            metavar="N",
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
