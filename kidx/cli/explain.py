"""`kidx explain`: explain rules."""

from __future__ import annotations

import click

from kidx.cli.choices import Rules
from kidx.cli.options import format_option


@click.command(
    epilog="""\b
Examples:
  kidx explain
  kidx explain KX110
  kidx explain zero-tail
  kidx explain --format jsonl KX1"""
)
@click.argument("rules", nargs=-1, metavar="[RULE]...", type=Rules(systems=("kafka", "rocketmq")))
@format_option()
def command(rules: tuple[str, ...], form: str) -> None:
    """Explain what a rule of `verify` means, what a broker would do, and how to repair it.

    A RULE is a code (KX110), a name (zero-tail) or a prefix of codes (KX1). Without one, all rules are listed.
    """
    from kidx.checks.catalogue import RULES
    from kidx.findings import codes_of
    from kidx.report.findings.explain import render_rule_list, render_rules, rules_table
    from kidx.rocketmq.catalogue import RULES as ROCKETMQ_RULES

    every = RULES | ROCKETMQ_RULES
    chosen = [every[code] for code in sorted(codes_of(rules, every) if rules else every)]
    if form != "text":
        from kidx.report.formats.render import render

        render(rules_table(chosen), form)
    elif rules:
        render_rules(chosen)
    else:
        render_rule_list(chosen)
