"""`kidx rocketmq verify`: check a store."""

from __future__ import annotations

import click

from kidx.cli.options import color_option, format_option
from kidx.cli.rocketmq.options import config_options
from kidx.cli.values import JOBS, Rules
from kidx.findings import SEVERITIES


@click.command(
    epilog="""\b
Examples:
  kidx rocketmq verify store
  kidx rocketmq verify store --config broker.conf --ignore KXR121
  kidx rocketmq verify store --format sarif > kidx.sarif
  kidx explain KXR120

Exit status: 0 clean, 1 findings at or above --fail-level, 3 something could not be read or checked."""
)
@click.argument("roots", metavar="STORE...", nargs=-1, required=True, type=click.Path(readable=False))
@config_options
@format_option("junit", "sarif", "github")
@click.option(
    "--fail-level",
    type=click.Choice(SEVERITIES),
    default="warning",
    show_default=True,
    help="The least severity of a finding that makes the exit status 1.",
)
@click.option(
    "--select",
    type=Rules(systems=("rocketmq",)),
    help="Report only these rules: codes, names or prefixes (KXR1).",
)
@click.option("--ignore", type=Rules(systems=("rocketmq",)), help="Do not report these rules.")
@click.option("--quick", is_flag=True, help="Leave out the CRCs of bodies and of CRC properties.")
@click.option("--jobs", type=JOBS, help="Number of processes.  [default: 2, at most one for each CPU]")
@click.option("--all", "every", is_flag=True, help="Show every finding, not only 20 of a rule in a file.")
@click.option("-v", "--verbose", is_flag=True, help="Show with each finding what a broker would do.")
@color_option
def command(
    roots: tuple[str, ...],
    config: str | None,
    commit_log: tuple[str, ...],
    form: str,
    fail_level: str,
    select: str | None,
    ignore: str | None,
    quick: bool,
    jobs: int | None,
    every: bool,
    verbose: bool,
    color: str,
) -> int:
    """Check STORE: every unit against the commit log, every message, the index's chains, checkpoint, how it stopped."""
    from kidx.checks.catalogue import codes_of, left_out
    from kidx.cli.output import print_checked
    from kidx.rocketmq.catalogue import RULES
    from kidx.rocketmq.verify import verify_stores

    rules = None
    if select or ignore:
        rules = codes_of((select or "KXR").split(","), RULES) - codes_of((ignore or "").split(","), RULES)
    checked = verify_stores(roots, config=config, commit_log=commit_log, rules=rules, quick=quick, jobs=jobs)
    if rules is not None:
        checked.coverage.skipped += left_out(rules, RULES)
    return print_checked(form, checked, RULES, roots, fail_level=fail_level, color=color, every=every, verbose=verbose)
