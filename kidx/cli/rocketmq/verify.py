"""`kidx rocketmq verify`: check a store."""

from __future__ import annotations

import click

from kidx.cli.options import format_option
from kidx.cli.reporting import Reporting, reporting_options
from kidx.cli.rocketmq.options import config_options
from kidx.cli.values import JOBS, PATH


@click.command(
    epilog="""\b
Examples:
  kidx rocketmq verify store
  kidx rocketmq verify store --config broker.conf --ignore KXR121
  kidx rocketmq verify store --format sarif > kidx.sarif
  kidx explain KXR120

Exit status: 0 clean, 1 findings at or above --fail-level, 3 something could not be read or checked."""
)
@click.argument("roots", metavar="STORE...", nargs=-1, required=True, type=PATH)
@config_options
@format_option("junit", "sarif", "github")
@reporting_options("rocketmq", "KXR1")
@click.option("--quick", is_flag=True, help="Leave out the CRCs of bodies and of CRC properties.")
@click.option("-j", "--jobs", type=JOBS, help="Number of processes.  [default: 2, at most one for each CPU]")
def command(
    roots: tuple[str, ...],
    config: str | None,
    commit_log: tuple[str, ...],
    form: str,
    reporting: Reporting,
    quick: bool,
    jobs: int | None,
) -> int:
    """Check STORE: every unit against the commit log, every message, the index's chains, checkpoint, how it stopped."""
    from kidx.rocketmq.catalogue import RULES
    from kidx.rocketmq.verify import verify_stores

    rules = reporting.codes(RULES)
    checked = verify_stores(roots, config=config, commit_log=commit_log, rules=rules, quick=quick, jobs=jobs)
    return reporting.show(form, checked, RULES, roots)
