"""`kidx rocketmq verify`: check a store."""

from __future__ import annotations

import click

from kidx.cli import exit_status
from kidx.cli.options import color_option, format_option, wants_color
from kidx.cli.rocketmq.options import config_options
from kidx.cli.values import Rules
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
    "--select", type=Rules(systems=("rocketmq",)), help="Report these rules only: codes, names, or prefixes as KXR1."
)
@click.option("--ignore", type=Rules(systems=("rocketmq",)), help="Do not report these rules.")
@click.option("--quick", is_flag=True, help="Leave out the CRCs of bodies and of CRC properties.")
@click.option("--all", "every", is_flag=True, help="Show every finding on the screen, not 20 of a rule in a file.")
@click.option("-v", "--verbose", is_flag=True, help="Say with each finding what a broker would do.")
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
    every: bool,
    verbose: bool,
    color: str,
) -> int:
    """Check STORE: every unit against the commit log, every message, the index's chains, checkpoint, how it stopped."""
    from kidx.checks.catalogue import codes_of, left_out
    from kidx.cli import complain
    from kidx.cli.verdict import print_verdict
    from kidx.errors import CannotRead
    from kidx.rocketmq.catalogue import RULES
    from kidx.rocketmq.checks.making import Checked
    from kidx.rocketmq.checks.run import check_store
    from kidx.rocketmq.open import layout_and_config

    rules = codes_of((select or "KXR").split(","), RULES) - codes_of((ignore or "").split(","), RULES)
    whole = Checked()
    for root in roots:
        try:
            layout, settings = layout_and_config(root, config, commit_log)
        except CannotRead as e:
            whole.unread.append(str(e))
            whole.coverage.unreadable += 1
            continue
        checked = check_store(layout, settings, crcs=not quick, rules=rules)
        whole.findings += checked.findings
        whole.coverage.add(checked.coverage)
        whole.unread += checked.unread
    whole.coverage.skipped += left_out(rules, RULES)
    for sentence in whole.unread:
        complain(sentence)
    failing = SEVERITIES[: SEVERITIES.index(fail_level) + 1]
    status = exit_status.FINDINGS if any(f.severity in failing for f in whole.findings) else exit_status.CLEAN
    if whole.unread or not whole.coverage.files:
        status = exit_status.UNREADABLE
    print_verdict(
        form, whole, failing, status, roots, rules=RULES, color=wants_color(color), every=every, verbose=verbose
    )
    return status
