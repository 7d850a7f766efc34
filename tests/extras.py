"""Modules that need an extra are skipped without it, before they import anything of it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

MakeModule = Callable[[Path, pytest.Collector], pytest.Module | None]


class _Skipped(pytest.Module):
    """A module whose extra is not installed: not even imported, and it says why."""

    extra = ""

    def collect(self) -> Any:
        pytest.skip(f"needs the extra: pip install 'kidx[{self.extra}]'", allow_module_level=True)


def modules_needing(extra: str, *packages: str) -> MakeModule:
    """A pytest_pycollect_makemodule for a room whose modules import these packages of an extra."""

    def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        if all(map(find_spec, packages)):
            return None
        skipped: _Skipped = _Skipped.from_parent(parent, path=module_path)
        skipped.extra = extra
        return skipped

    return pytest_pycollect_makemodule
