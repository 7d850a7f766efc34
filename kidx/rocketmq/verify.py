"""`kidx rocketmq verify` as a function: checks stores one after another and adds up the results."""

from __future__ import annotations

from collections.abc import Sequence

from kidx.errors import CannotRead
from kidx.evidence import is_uri
from kidx.execution import usual_jobs
from kidx.findings import left_out
from kidx.rocketmq.catalogue import RULES
from kidx.rocketmq.engine.store import Checked, check_store
from kidx.rocketmq.open import layout_and_config


def verify_stores(
    roots: Sequence[str],
    *,
    config: str | None = None,
    commit_log: tuple[str, ...] = (),
    rules: frozenset[str] | None = None,
    quick: bool = False,
    jobs: int | None = None,
) -> Checked:
    """Check stores. `rules` are the codes to report, None for all; a store that cannot be read is in `unread`."""
    if any(map(is_uri, (*roots, *commit_log))):
        jobs = 1  # pyarrow's clients of remote stores do not survive a fork
    total = Checked()
    for root in roots:
        try:
            layout, settings = layout_and_config(root, config, commit_log)
            total.add(check_store(layout, settings, crcs=not quick, rules=rules, jobs=jobs or usual_jobs()))
        except CannotRead as e:
            total.cannot_read(e)
    total.coverage.skipped += left_out(rules, RULES)
    return total
