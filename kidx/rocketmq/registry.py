"""The registry of checks: a rule registers its function for the type of subject that it examines.

Rules import this module; it imports all of them on first use, so no list names them.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from kidx.findings import Finding

S = TypeVar("S")
Check = Callable[[S], Iterable[Finding]]
_CHECKS: dict[type, list[Check[Any]]] = {}


def asked_of(subject: type[S]) -> Callable[[Check[S]], Check[S]]:
    """Register a function that yields a rule's findings about a subject, none if the subject is healthy."""

    def register(check: Check[S]) -> Check[S]:
        _CHECKS.setdefault(subject, []).append(check)
        return check

    return register


def findings_of(subject: object) -> Iterator[Finding]:
    """The findings of all rules registered for this type of subject or one of its base classes."""
    kind: type = type(subject)
    for check in _checks_of(kind):
        yield from check(subject)


@cache
def _checks_of(subject: type) -> tuple[Check[Any], ...]:
    from kidx.rocketmq import rules

    for module in pkgutil.iter_modules(rules.__path__, f"{rules.__name__}."):
        import_module(module.name)
    return tuple(check for kind in subject.__mro__ for check in _CHECKS.get(kind, []))
