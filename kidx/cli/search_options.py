"""Options of the commands that search: lookup and trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kidx.cli.values import BROKER_VERSION, OFFSET, Bytes
from kidx.formats.broker_versions import NEWEST, version_text

F = TypeVar("F", bound=Callable[..., Any])


def search_option(default: str) -> Callable[[F], F]:
    """--search: Kafka's two, or both."""
    return click.option(
        "--search",
        type=click.Choice(["warm", "standard", "both"]),
        default=default,
        show_default=True,
        help="Kafka's search since 2.2 (warm section, KAFKA-6432), the one before it, or both.",
    )


def page_size_option(f: F) -> F:
    """--page-size: how large the operating system's pages are."""
    return click.option("--page-size", type=Bytes(16, 1 << 30), default=4096, show_default=True, help="Bytes a page.")(
        f
    )


def targets_from_option(f: F) -> F:
    """--from-file: more targets."""
    return click.option(
        "--from-file",
        type=click.Path(readable=False),
        metavar="FILE",
        help="Read more targets from this file, a line each.",
    )(f)


def index_kind_option(f: F) -> F:
    """--kind: for files whose name does not tell."""
    return click.option(
        "--kind",
        type=click.Choice(["offset_index", "time_index", "transaction_index"]),
        help="What the file is, where its name does not tell.",
    )(f)


def index_search_options(f: F) -> F:
    """What an index is searched for: --by, --bound, and a fetch's range for a transaction index."""
    for option in (
        click.option("--fetch-to", type=OFFSET, help="Transaction index: the offset after a fetch's last."),
        click.option("--fetch-from", type=OFFSET, help="Transaction index: a fetch's first offset."),
        click.option(
            "--bound",
            type=click.Choice(["lower", "upper"]),
            default="lower",
            show_default=True,
            help="The last entry at or below the target, or the first at or above it.",
        ),
        click.option(
            "--by",
            type=click.Choice(["key", "value"]),
            default="key",
            show_default=True,
            help="Compare keys (offsets; a time index's timestamps) or values (positions; its offsets).",
        ),
    ):
        f = option(f)
    return f


def log_read_options(f: F) -> F:
    """What a segment or partition is asked: --offset or --timestamp, and how a consumer would."""
    for option in (
        click.option(
            "--broker-version",
            type=BROKER_VERSION,
            default=version_text(NEWEST),
            show_default=True,
            help="Log: answer as this broker does. max-timestamp: unknown before 3.0; 3.0 to 3.7 answer with the "
            "offset in the time index, mostly its batch's last; 3.8 and later with the record's. earliest-local: since "
            "3.5. Index: before 2.2 the standard search, unless --search says otherwise.",
        ),
        click.option("--max-bytes", type=Bytes(), help="Log: with --offset, the slice that a fetch of that size gets."),
        click.option(
            "--isolation",
            type=click.Choice(["read_uncommitted", "read_committed"]),
            help="Log: say whether a consumer of this isolation sees the record.",
        ),
        click.option("--start", type=OFFSET, help="Log: with --timestamp, no record before this offset."),
        click.option(
            "--timestamp",
            metavar="TIME",
            help="Log: the first record at or past this time; of a partition also latest (-1), earliest (-2), "
            "max-timestamp (-3) and earliest-local (-4), as kafka-get-offsets has them.",
        ),
        click.option("--offset", type=OFFSET, help="Log: the batch and record at this offset."),
    ):
        f = option(f)
    return f
