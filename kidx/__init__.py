"""Forensics for Kafka's index files and the segments they point into.

    kidx.open_index(path)          an index: entries as an array, look-ups with their probes and pages
    kidx.open_segment(path)        a .log with its indexes: batches as columns, records, look-ups
    kidx.open_partition(path)      a partition as a consumer sees it
    kidx.open_log_dir(path)        a broker's log dir: identity, entries, checkpoints
    kidx.open_cluster(path, ...)   topics by id, settings and assignments
    kidx.verify(path, ...)         findings, and what was checked

Names are imported when they are first used: `import kidx` alone imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kidx.errors import CannotRead as CannotRead
    from kidx.errors import KidxError as KidxError
    from kidx.errors import LimitExceeded as LimitExceeded
    from kidx.errors import UsageError as UsageError
    from kidx.errors import WrongFormat as WrongFormat
    from kidx.findings import Coverage as Coverage
    from kidx.findings import Finding as Finding
    from kidx.library import open_cluster as open_cluster
    from kidx.library import open_index as open_index
    from kidx.library import open_log_dir as open_log_dir
    from kidx.library import open_partition as open_partition
    from kidx.library import open_segment as open_segment
    from kidx.library import verify as verify

__version__ = "0.1.0"
_MODULES = {
    "library": ("open_cluster", "open_index", "open_log_dir", "open_partition", "open_segment", "verify"),
    "findings": ("Coverage", "Finding"),
    "errors": ("CannotRead", "KidxError", "LimitExceeded", "UsageError", "WrongFormat"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"kidx.{module}"), name)
    raise AttributeError(f"module 'kidx' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *(name for names in _MODULES.values() for name in names)])
