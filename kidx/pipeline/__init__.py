"""Spark: the checks of `kidx verify` over a fleet, questions about the fleet, and the data source "kidx".

    from kidx.pipeline import register, scan
    scanned = scan(spark, "/mnt/brokers", out="/var/lib/kidx")
    scanned.findings.groupBy("rule").count().show()

Only this room imports pyspark. Tasks call the same functions as the commands for single files.
"""

from __future__ import annotations

from typing import Any

__all__ = ["register", "scan"]


def __getattr__(name: str) -> Any:
    if name == "scan":
        from kidx.pipeline.scanning import scan

        return scan
    if name == "register":
        from kidx.pipeline.sources import register

        return register
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
