"""How checks make findings of a rule: shorter here, so that each check reads as what it checks."""

from __future__ import annotations

from typing import Any

from kidx.checks.catalogue import RULES
from kidx.findings import MAX_FINDINGS_OF_A_RULE, Finder, Finding, FindingLimiter, SuppressedFindings, limited

__all__ = ["MAX_FINDINGS_OF_A_RULE", "FindingLimiter", "SuppressedFindings", "finding", "limited", "of_entry"]

finding = Finder(RULES)


def of_entry(
    code: str, file: str, width: int, slot: int, said: str, *, expected: Any = None, found: Any = None
) -> Finding:
    """A finding about an index's entry, of `width` bytes; `said` follows `entry 12` in its sentence."""
    span = (slot * width, (slot + 1) * width)
    return finding(code, file, f"entry {slot:,}{said}", span=span, slot=slot, expected=expected, found=found)
