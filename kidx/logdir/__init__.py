"""Names and relations of a broker's files: segments, partitions, log dirs, clusters.

Files are opened only when their content is used; kidx.logdir.names and .tree open none.
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
