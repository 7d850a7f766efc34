"""What `kidx trace` was asked for: pages of look-ups, the growing index, or one of the laboratory's three."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kidx.errors import UsageError
from kidx.evidence import open_evidence
from kidx.tables.table import Table

MODES = ("grow", "resident", "observe", "simulate")
_NEEDS_NO_FILE = ("grow", "simulate")


def mode_of(asked: Mapping[str, Any]) -> str:
    """The mode whose flag is set, or "pages". Raises UsageError for two at once, or an option of another mode."""
    chosen = [mode for mode in MODES if asked[mode]]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} are two questions; ask them one after the other")
    mode = chosen[0] if chosen else "pages"
    if asked["evict_original"] and mode != "observe":
        raise UsageError("--evict-original goes with --observe")
    if mode != "simulate" and (asked["workload_file"] or asked["warm_bytes"] or asked["away"]):
        raise UsageError("--workload-file, --warm-bytes and --away go with --simulate")
    if mode == "simulate" and asked["path"] is not None:
        raise UsageError(f"--simulate takes no file ({asked['path']}); its workload comes by --workload-file")
    if asked["path"] is None and mode not in _NEEDS_NO_FILE:
        raise UsageError("no file given; name an index and targets, or use --grow or --simulate, which need no file")
    return mode


@contextmanager
def table_of(mode: str, asked: dict[str, Any]) -> Iterator[Table]:
    """The mode's table, and its file open as long as the table is read."""
    path = asked.pop("path")
    if mode == "simulate":
        from kidx.tables.simulation import simulation_table

        yield simulation_table(**asked)
    elif path is None:
        from kidx.tables.trace import growth_table

        yield growth_table(None, **asked)
    else:
        from kidx.tables import observation as trace_observed
        from kidx.tables import trace as trace_tables

        tables: dict[str, Callable[..., Table]] = {
            "pages": trace_tables.trace_table,
            "grow": trace_tables.growth_table,
            "resident": trace_observed.residency_table,
            "observe": trace_observed.observation_table,
        }
        with open_evidence(path) as evidence:
            yield tables[mode](evidence, **asked)
