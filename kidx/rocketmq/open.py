"""Opening a store by its root directory: layout, configuration, file times."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kidx.errors import CannotRead, UsageError
from kidx.evidence import is_directory, read_file
from kidx.rocketmq.config import StoreConfig, read_config
from kidx.rocketmq.layout import Layout, read_layout, refuse_dledger

if TYPE_CHECKING:
    from kidx.rocketmq.store import Store

MTIMES_LIMIT_BYTES = 64 << 20


def open_store(
    root: str,
    *,
    config: str | None = None,
    version: str | None = None,
    algorithm: str | None = None,
    mtimes: str | None = None,
    commit_log_dirs: tuple[str, ...] = (),
) -> Store:
    """A store as a broker loads it. `mtimes` names a table of file times that replaces the file system's.

    Raises CannotRead (no store there), UsageError (a bad table or property), DoesNotLoad.
    """
    from kidx.rocketmq.store import Store

    layout, settings = layout_and_config(root, config, commit_log_dirs)
    times = read_mtimes(mtimes, root) if mtimes else None
    return Store(layout, settings, version=version, algorithm=algorithm, mtimes_ns=times)


def layout_and_config(root: str, config: str | None, commit_log_dirs: tuple[str, ...]) -> tuple[Layout, StoreConfig]:
    """A store's files and settings, without loading it. Raises CannotRead, UsageError."""
    settings = read_config(config)
    if settings.dledger:
        raise refuse_dledger(f"{config}: the commit log is")
    return read_layout(root, commit_log_dirs or _configured_commit_log(root, settings)), settings


def _configured_commit_log(root: str, settings: StoreConfig) -> tuple[str, ...]:
    """The directories of storePathCommitLog, for a store without a commitlog directory of its own.

    A store that has one is read from there: the configured paths may be those of the broker it was copied from.
    """
    directories = settings.commit_log_dirs
    if not directories or is_directory(os.path.join(root, "commitlog")):
        return ()
    missing = [directory for directory in directories if not is_directory(directory)]
    if missing and len(directories) > 1:
        raise CannotRead(
            f"{missing[0]}: this directory of the commit log (storePathCommitLog) does not exist; give --commit-log "
            "DIR for each directory of it"
        )
    return () if missing else directories


def read_mtimes(path: str, root: str) -> dict[str, int]:
    """A table of `path TAB nanoseconds`, paths relative to the store or to the directory that holds it."""
    found: dict[str, int] = {}
    prefix = os.path.basename(os.path.abspath(root)) + "/"
    for number, line in enumerate(read_file(path, MTIMES_LIMIT_BYTES).decode("utf-8", "replace").splitlines(), 1):
        name, tab, ns = line.rpartition("\t")
        if not line.strip() or line.startswith("#"):
            continue
        if not tab or not ns.removeprefix("-").isdigit():
            raise UsageError(f"{path}, line {number}: expected `path TAB nanoseconds`, found {line!r}")
        found[name.removeprefix(prefix).removeprefix("store/")] = int(ns)
    return found
