"""Sending kidx to a cluster's executors, as a zip file that they import from."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import kidx
from kidx.pipeline.masters import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ship(spark: SparkSession, directory: Path) -> None:
    """Send kidx to the executors of a session. Its dependencies must be installed there.

    Local executors import kidx from where this process does. The zip is written to `directory`, where it must stay for
    the session.
    """
    if not is_local(str(spark.sparkContext.master)):
        spark.sparkContext.addPyFile(str(package_zip(directory)))


def package_zip(directory: Path) -> Path:
    """Write the package kidx as a zip file that executors can import. Returns its path."""
    root = Path(kidx.__file__).parent
    target = directory / "kidx-package.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, Path("kidx") / path.relative_to(root))
    return target
