"""How kidx itself reaches a cluster's executors: as a zip that they import from."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import kidx
from kidx.pipeline.masters import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ship(spark: SparkSession, directory: Path) -> None:
    """Send kidx to the executors of a session; they need numpy, pyarrow and its other packages installed.

    Local executors import it from where this process does. `directory` takes a zip, which has to stay there as long
    as the session.
    """
    if not is_local(str(spark.sparkContext.master)):
        spark.sparkContext.addPyFile(str(package_zip(directory)))


def package_zip(directory: Path) -> Path:
    """kidx itself as a zip that executors import from; they need numpy, pyarrow and kidx's other packages installed."""
    root = Path(kidx.__file__).parent
    target = directory / "kidx-package.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, Path("kidx") / path.relative_to(root))
    return target
