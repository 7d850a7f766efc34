"""Sending kidx to a cluster's executors, as a zip file that they import from."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import kidx
from kidx.pipeline.masters import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SERVED: WeakSet[Any] = WeakSet()


def ship(spark: SparkSession) -> None:
    """Send kidx to the executors of a session, once. Its dependencies must be installed there.

    Local executors import kidx from where this process does. Spark Connect gets it as an artifact.
    """
    connect = type(spark).__module__.startswith("pyspark.sql.connect")
    if not connect and is_local(str(spark.sparkContext.master)):
        if "PYSPARK_PYTHON" not in os.environ:  # Spark would start the first python3 of the path, which may lack kidx
            spark.sparkContext.pythonExec = sys.executable
        return
    if spark in _SERVED:
        return
    directory = Path(tempfile.mkdtemp(prefix="kidx-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    archive = str(package_zip(directory))
    if connect:
        spark.addArtifacts(archive, pyfile=True)
    else:
        spark.sparkContext.addPyFile(archive)
    _SERVED.add(spark)


def package_zip(directory: Path) -> Path:
    """Write the package kidx as a zip file that executors can import. Returns its path."""
    root = Path(kidx.__file__).parent
    target = directory / "kidx-package.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, Path("kidx") / path.relative_to(root))
    return target
