"""What was not checked, told briefly."""

from __future__ import annotations

from collections.abc import Sequence

from kidx.findings import Skipped

_MOST_SKIPPED = 20  # of one reason; a fleet of lone indexes would list each of them


def together(skipped: Sequence[Skipped]) -> list[Skipped]:
    """What was skipped, with a reason that many share given once."""
    by_reason: dict[str, list[str]] = {}
    for one in skipped:
        by_reason.setdefault(one.why, []).append(one.what)
    short = []
    for why, whats in by_reason.items():
        if len(whats) <= _MOST_SKIPPED:
            short += [Skipped(what, why) for what in whats]
        else:
            short.append(Skipped(f"{whats[0]} and {len(whats) - 1:,} more", why))
    return short
