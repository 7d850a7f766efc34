"""`kidx verify`: check files, directories or trees."""

from __future__ import annotations

import click

from kidx.cli.checking import Checking, checking_options
from kidx.cli.known_findings import KnownFindings, known_findings_options
from kidx.cli.options import format_option
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.reporting import Reporting, reporting_options
from kidx.cli.scrub_options import Scrubbing, scrub_options
from kidx.cli.tier_options import tier_options
from kidx.cli.values import JOBS, PATH
from kidx.errors import UsageError
from kidx.evidence import STDIN_NAMES, is_uri
from kidx.execution import usual_jobs

_SUGGESTING = ("text", "jsonl")  # the formats of --suggest


@click.command(
    epilog="""\b
Examples:
  kidx verify /var/lib/kafka/data
  kidx verify --deep --jobs 8 orders-3
  kidx verify --quick --live /var/lib/kafka/data
  kidx verify orders-3/00000000000004117222.index
  kidx verify --ignore KX110 --format junit data > kidx.xml
  kidx verify --select KX1,torn-entry --fail-level error '/backup/*/orders-*'
  kidx verify data --remote s3://tier --key-file main=private.pem
  kidx verify --write-baseline known.json data
  kidx verify --baseline known.json data
  kidx verify --rate 50MB/s --resume scrub.json /var/lib/kafka/data
  kidx explain KX105

Exit status: 0 clean, 1 findings at or above --fail-level, 3 something could not be read or checked."""
)
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH...")
@from_file_option
@format_option("junit", "sarif", "github")
@reporting_options("kafka", "KX1")
@known_findings_options
@checking_options
@tier_options
@scrub_options
@click.option(
    "--kind",
    type=click.Choice(["log", "offset_index", "time_index", "transaction_index", "producer_snapshot"]),
    help="The kind of a file whose name does not show it; required for `-`.",
)
@click.option("-j", "--jobs", type=JOBS, help="Number of processes.  [default: 2, at most one for each CPU]")
@click.option(
    "--suggest", is_flag=True, help="Show which kidx command repairs each finding, and what an alternative costs."
)
def command(
    paths: tuple[str, ...],
    from_file: str | None,
    form: str,
    reporting: Reporting,
    remote: tuple[str, ...],
    known: KnownFindings,
    checking: Checking,
    scrubbing: Scrubbing,
    kind: str | None,
    jobs: int | None,
    suggest: bool,
) -> int:
    """Check files, directories or trees: indexes, logs, each against the other, and the files next to them.

    PATH is a file, a partition's directory, a log dir, a tree, a pattern, or `-` (standard input, with --kind). Without
    --quick or --deep every index entry and every batch's header and CRC is checked. What was not checked is listed. If
    something cannot be read, the exit status is 3.
    With --remote, log dirs are held against their tier and __remote_log_metadata; a tier alone can be a PATH.
    """
    from kidx.checks.catalogue import RULES
    from kidx.checks.engine.targets import targets_of
    from kidx.report.screens.progress import ProgressBar

    reporting, settings = known.configured(reporting)
    rules = reporting.codes(RULES)
    expanded = paths_from(paths, from_file)
    if suggest and form not in _SUGGESTING:
        raise UsageError(
            f"--suggest goes with --format {' or '.join(_SUGGESTING)}; {form} has no place for suggestions"
        )
    if kind is None and any(path in STDIN_NAMES for path in expanded):
        raise UsageError("standard input has no name that gives its kind; add --kind")
    expanded += remote
    if any(map(is_uri, expanded)):
        jobs = 1  # pyarrow's clients of remote stores do not survive a fork; use `kidx scan` for a fleet in a store
    options = checking.options(rules, kind, jobs or usual_jobs())._replace(remote=remote)
    with ProgressBar("checked") as progress:
        checked = known.kept(scrubbing.check(targets_of(expanded), options, progress), settings, RULES)
    status = reporting.show(form, checked, RULES, expanded)
    if suggest:
        from kidx.report.findings.suggestions import suggest_repairs

        suggest_repairs(checked.findings, RULES, form)
    return status
