"""Options of kidx trace's laboratory: residency, observation, simulation, pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kidx.cli.values import Bytes

F = TypeVar("F", bound=Callable[..., Any])
_FILE = click.Path(dir_okay=False, readable=False)


def lab_options(f: F) -> F:
    """All of them, in the order that help lists them."""
    for option in reversed(
        (
            click.option("--resident", is_flag=True, help="Which pages of FILE are in memory now, bringing none in."),
            click.option("--observe", is_flag=True, help="Evict a private copy, look up, and see which pages come in."),
            click.option(
                "--evict-original", is_flag=True, help="--observe: evict FILE's own pages (its broker will feel it)."
            ),
            click.option("--simulate", is_flag=True, help="What a workload's look-ups cost when memory is short."),
            click.option(
                "--workload-file",
                type=_FILE,
                metavar="FILE",
                help="--simulate: the workload, a line a fact (`-`: stdin).",
            ),
            click.option(
                "--cache", "cache_bytes", type=Bytes(), default="16MiB", show_default=True, help="--simulate: memory."
            ),
            click.option(
                "--policy", type=click.Choice(["lru", "two-list"]), default="lru", show_default=True,
                help="--simulate: the page cache forgets as LRU, or as Linux's two lists.",
            ),
            click.option(
                "--warm-bytes", type=Bytes(), multiple=True, help="--simulate: the warm section's length; repeatable."
            ),
            click.option("--away", metavar="READER", multiple=True, help="--simulate: this reader reads from a slave."),
            click.option("--svg", metavar="FILE", type=_FILE, help="Draw the answer there, too."),
            click.option("--html", metavar="FILE", type=_FILE, help="As one page of HTML."),
        )
    ):  # fmt: skip
        f = option(f)
    return f
