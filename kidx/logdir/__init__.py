"""Names and relations of a broker's files: segments, partitions, log dirs, clusters.

Nothing is opened until it is asked for; kidx.logdir.names and .tree open nothing at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kidx.logdir.cluster import Cluster
    from kidx.logdir.log_dir import LogDir

__all__ = ["Cluster", "LogDir"]


def __getattr__(name: str) -> Any:
    if name == "LogDir":
        from kidx.logdir.log_dir import LogDir

        return LogDir
    if name == "Cluster":
        from kidx.logdir.cluster import Cluster

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
