"""Options of `kidx trace` that belong to one of its modes: targets, --grow, --resident, --observe or --simulate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kidx.cli.options import all_of
from kidx.cli.paths import lines_of
from kidx.cli.tier_options import key_file_option
from kidx.cli.values import ANY_NUMBER, Bytes, Number
from kidx.errors import UsageError

PAGES, GROW, RESIDENT, OBSERVE, SIMULATE = "pages", "grow", "resident", "observe", "simulate"
_FILE = click.Path(dir_okay=False, readable=False)

mode_options = all_of(
    click.option(
        "--workload",
        type=click.Choice(["tail", "uniform", "all", "replay"]),
        help="Instead of targets: the warm section's entries, 100,000 random keys, every entry, or --from-file's "
        "targets.",
    ),
    click.option("--seed", type=ANY_NUMBER, default=1, show_default=True, help="Of the random keys."),
    click.option(
        "--grow", is_flag=True, help="What the last entry's look-up newly needs once the index is a page longer."
    ),
    click.option("--pages", type=Number("N", 1, 1 << 20), help="--grow: from that many full pages (FILE's, or 13)."),
    click.option("--entry-size", type=Bytes(1, 4096), help="--grow: bytes an entry (FILE's, or 8)."),
    click.option("--resident", is_flag=True, help="Which pages of FILE are in memory now, bringing none in."),
    click.option("--observe", is_flag=True, help="Evict a private copy, look up, and see which pages come in."),
    click.option("--evict-original", is_flag=True, help="--observe: evict FILE's own pages (this slows its broker)."),
    click.option("--simulate", is_flag=True, help="What a workload's look-ups cost when memory is short."),
    click.option(
        "--workload-file", type=_FILE, metavar="FILE", help="--simulate: the workload, one fact per line (`-`: stdin)."
    ),
    click.option(
        "--cache", "cache_bytes", type=Bytes(), default="16MiB", show_default=True, help="--simulate: memory."
    ),
    click.option(
        "--policy",
        type=click.Choice(["lru", "two-list"]),
        default="lru",
        show_default=True,
        help="--simulate: the page cache evicts by LRU, or by Linux's two lists.",
    ),
    click.option(
        "--warm-bytes", type=Bytes(), multiple=True, help="--simulate: the warm section's length; repeatable."
    ),
    click.option("--away", metavar="READER", multiple=True, help="--simulate: this reader reads from a slave."),
    click.option("--svg", metavar="FILE", type=_FILE, help="Draw the answer there, too."),
    click.option("--html", metavar="FILE", type=_FILE, help="As one page of HTML."),
    key_file_option,
)


def mode_of(asked: Mapping[str, Any]) -> str:
    """The mode whose flag is set, or PAGES. Raises UsageError for two at once, or an option of another mode."""
    chosen = [mode for mode in (GROW, RESIDENT, OBSERVE, SIMULATE) if asked[mode]]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} cannot be combined; run kidx trace twice")
    mode = chosen[0] if chosen else PAGES
    if asked["evict_original"] and mode != OBSERVE:
        raise UsageError("--evict-original goes with --observe")
    if mode != SIMULATE and (asked["workload_file"] or asked["warm_bytes"] or asked["away"]):
        raise UsageError("--workload-file, --warm-bytes and --away go with --simulate")
    if mode == SIMULATE and asked["path"] is not None:
        raise UsageError(f"--simulate takes no file ({asked['path']}); its workload comes from --workload-file")
    if asked["path"] is None and mode not in (GROW, SIMULATE):
        raise UsageError("no file given; name an index and targets, or use --grow or --simulate, which need no file")
    return mode


def check_targets(mode: str, asked: Mapping[str, Any], targets: bool) -> None:
    """Raises UsageError where mode or --workload does not fit the targets; `targets` says that there are some."""
    workload = asked["workload"]
    if mode == OBSERVE and not targets:
        raise UsageError("nothing to observe; name targets")
    if mode != PAGES:
        return
    if workload == "replay" and asked["from_file"] is None and "-" not in asked["targets"]:
        raise UsageError("--workload replay takes its targets from --from-file FILE, or `-` for standard input")
    if workload is None and not targets:
        raise UsageError("nothing to trace; name targets, or a --workload")
    if workload not in (None, "replay") and targets:
        raise UsageError(f"--workload {workload} makes its own targets; --workload replay takes yours")


def simulation(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of simulation_table that are about the workload and its memory. Raises UsageError, CannotRead."""
    from kidx.formats.indexes import WARM_SECTION_BYTES
    from kidx.lookup.workload import parse_workload
    from kidx.tables.simulation import default_workload

    file = asked["workload_file"]
    workload = default_workload() if file is None else parse_workload(lines_of(file), file)
    memory = {name: asked[name] for name in ("cache_bytes", "policy", "away")}
    return {"workload": workload, "warm_bytes": asked["warm_bytes"] or (WARM_SECTION_BYTES,), **memory}
