"""Every rule of `kidx verify` by its code, as kidx.checks.rules defines them, and how users choose among them.

KX1xx need an index alone, KX2xx an index and its log, KX3xx the log, KX4xx transactions, producers and leader epochs,
KX5xx the files next to a segment. Codes are stable: the number of a removed rule is not used again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import kidx.checks.rules
from kidx.errors import UsageError, meant
from kidx.findings import Rule, Skipped, rules_in

RULES: dict[str, Rule] = rules_in(kidx.checks.rules)


def find_rule(said: str, rules: Mapping[str, Rule] = RULES) -> Rule:
    """The rule with that code or name, in any case. Raises UsageError."""
    rule = rules.get(said.upper()) or next((r for r in rules.values() if r.name == said.lower()), None)
    if rule is None:
        near = meant(said, [r.name for r in rules.values()])
        raise UsageError(f"{said}: no rule has this code or name{near or '; `kidx explain` lists them'}")
    return rule


def codes_of(selection: Iterable[str], rules: Mapping[str, Rule] = RULES) -> frozenset[str]:
    """The codes in `rules` that these codes, names and prefixes of codes (KX1) select. Raises UsageError."""
    codes: set[str] = set()
    for said in filter(None, map(str.strip, selection)):
        matching = {code for code in rules if code.startswith(said.upper())}
        codes |= matching or {find_rule(said, rules).code}
    return frozenset(codes)


def left_out(chosen: frozenset[str] | None, rules: Mapping[str, Rule] = RULES) -> list[Skipped]:
    """The rules that a selection of codes leaves out, as skipped items of a run; None selects all."""
    missing = sorted(set(rules) - chosen) if chosen is not None else []
    if not missing:
        return []
    few = len(missing) <= 4
    what = (
        ", ".join(f"{code} {rules[code].name}" for code in missing) if few else f"{len(missing)} of {len(rules)} rules"
    )
    return [Skipped(what, "left out by --select or --ignore")]
