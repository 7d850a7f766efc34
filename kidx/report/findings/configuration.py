"""kidx.toml, or [tool.kidx] of pyproject.toml: which findings `kidx verify` reports, and when it fails."""

from __future__ import annotations

import os
from typing import Any

from kidx.errors import UsageError
from kidx.evidence import is_file, read_file
from kidx.findings import SEVERITIES
from kidx.logdir.tree import holds_evidence

_CONFIGURATION, _PYPROJECT = "kidx.toml", "pyproject.toml"
_LARGEST_BYTES = 1 << 20
_KEYS: dict[str, type] = {"select": list, "ignore": list, "fail-level": str, "per-path-ignores": dict}


def configuration_here() -> str | None:
    """kidx.toml or pyproject.toml in the working directory, but not among evidence, with which it may have come."""
    here = next((name for name in (_CONFIGURATION, _PYPROJECT) if is_file(name)), None)
    return None if here is None or holds_evidence(".") else here


def read_configuration(path: str) -> dict[str, Any]:
    """The settings in a file. Raises UsageError, CannotRead."""
    import tomllib

    try:
        parsed = tomllib.loads(read_file(path, _LARGEST_BYTES).decode())
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{path}: not TOML: {e}") from None
    settings = parsed.get("tool", {}).get("kidx", {}) if os.path.basename(path) == _PYPROJECT else parsed
    for name, value in settings.items():
        if name not in _KEYS:
            raise UsageError(f"{path}: there is no setting {name}; there are {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[name]) or not _is_text(value):
            raise UsageError(f"{path}: {name} must be a {_KEYS[name].__name__} of texts")
    if settings.get("fail-level", SEVERITIES[0]) not in SEVERITIES:
        raise UsageError(f"{path}: fail-level is one of {', '.join(SEVERITIES)}")
    return dict(settings)


def _is_text(value: Any) -> bool:
    """Whether everything in a value is text: a text, a list of texts, or lists of texts by name."""
    if isinstance(value, dict):
        return all(isinstance(item, list) and _is_text(item) for item in value.values())
    return all(isinstance(item, str) for item in value)
