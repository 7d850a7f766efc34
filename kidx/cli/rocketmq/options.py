"""Options that several RocketMQ commands share, and opening the store they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kidx.cli.values import PATH, Bytes

if TYPE_CHECKING:
    from kidx.rocketmq.store import Store

F = TypeVar("F", bound=Callable[..., Any])


def config_options(f: F) -> F:
    """--config and --commit-log: what no file of the store records."""
    f = click.option(
        "--config",
        type=PATH,
        metavar="FILE",
        help="The broker's properties: file sizes, index slots and entries, delay levels, commit-log directories.  "
        "[default: inferred from the files]",
    )(f)
    return click.option(
        "--commit-log",
        "commit_log",
        type=PATH,
        metavar="DIR",
        multiple=True,
        help="A directory of the commit log, where it is split over several disks; repeatable.",
    )(f)


def broker_options(f: F) -> F:
    """--config, --commit-log and --broker-version: what loading a store depends on."""
    f = click.option(
        "--broker-version",
        metavar="X.Y.Z",
        help="The broker to imitate.  [default: 4.9.8 or 5.5.1, depending on which line wrote the store]",
    )(f)
    return config_options(f)


def memory_options(who: str) -> Callable[[F], F]:
    """--memory and --physical-memory: how much of the commit log `who` counts as in memory."""

    def added(f: F) -> F:
        f = click.option("--physical-memory", type=Bytes(), help="The machine's; the ratio makes --memory.")(f)
        return click.option("--memory", type=Bytes(), help=f"Bytes that the {who} counts as in memory.")(f)

    return added


def open_asked(
    root: str,
    config: str | None,
    commit_log: tuple[str, ...],
    broker_version: str | None,
    *,
    algorithm: str | None = None,
    mtimes: str | None = None,
) -> Store:
    """The store that a command's options name, loaded as that broker loads it."""
    from kidx.rocketmq.open import open_store

    return open_store(
        root,
        config=config,
        version=broker_version,
        algorithm=algorithm,
        mtimes=mtimes,
        commit_log_dirs=commit_log,
    )
