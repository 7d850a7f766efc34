"""Finds the checks of kidx.checks.rules by their subject, so the engine names no rule."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import kidx.checks.rules
from kidx.checks.rule import Check, Found
from kidx.findings import Finding

S = TypeVar("S")
_CHECKS_OF: dict[type, tuple[Check[Any], ...]] = {}
_MANY = 10  # findings of a healthy, repetitive rule in one file up to here are listed one by one


@cache
def all_checks() -> tuple[Check[Any], ...]:
    """Every check, by stage, rule and place in its file."""
    package = kidx.checks.rules
    modules = [import_module(m.name) for m in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Check)]
    return tuple(sorted(dict.fromkeys(found), key=lambda check: (check.stage, check.rules[0].code)))


def checks_of(subject: type[S]) -> tuple[Check[S], ...]:
    """The checks of a class of subjects, and of the classes that it derives from."""
    if subject not in _CHECKS_OF:
        _CHECKS_OF[subject] = tuple(check for check in all_checks() if issubclass(subject, check.subject))
    return _CHECKS_OF[subject]


def findings_about(subject: Any) -> Iterable[Found]:
    """The findings of all checks of a subject."""
    for check in checks_of(type(subject)):
        yield from check.findings(subject)


@cache
def distrusting(*kinds: str) -> frozenset[str]:
    """The codes of the rules whose violation makes a log untrustworthy in this way (kidx.checks.rule: BATCH, LOG)."""
    return frozenset(rule.code for check in all_checks() if check.distrust in kinds for rule in check.rules)


def few_or_one(findings: list[Finding]) -> list[Finding]:
    """The findings about one log, with many of a healthy, repetitive rule replaced by one."""
    for check in all_checks():
        if check.many is None:
            continue
        rule, joined = check.many
        odd = [f for f in findings if f.rule == rule.code]
        if len(odd) > _MANY:
            findings = [f for f in findings if f.rule != rule.code] + [joined(odd)]
    return findings
