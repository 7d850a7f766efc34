"""`kidx scan`: the checks of `kidx verify` over a fleet, on Spark."""

from __future__ import annotations

import sys

import click

from kidx.cli.checking import Checking, checking_options
from kidx.cli.options import format_option
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.reporting import Reporting, reporting_options
from kidx.cli.values import PATH, SparkSetting
from kidx.errors import UsageError
from kidx.report.printing import status_of


@click.command(
    epilog="""\b
Examples:
  kidx scan /mnt/brokers/*/data
  kidx scan --out nightly --report html --format junit /mnt/brokers > kidx.xml
  kidx scan --master spark://spark:7077 --out s3://audit/kidx s3://backup

Exit status: 0 clean, 1 findings at or above --fail-level, 3 something could not be read or checked."""
)
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH...")
@from_file_option
@format_option("junit", "sarif", "github")
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="Spark's master: spark://, yarn.")
@click.option("--conf", "config", multiple=True, type=SparkSetting(), help="A setting of Spark's own; may be repeated.")
@click.option("--out", type=PATH, metavar="DIR", help="Keep results here, or at a URI; later read what has changed.")
@click.option("--table", metavar="NAME", help="Append the findings to a table of a catalog: catalog.db.findings.")
@click.option("--metrics", type=PATH, metavar="FILE", help="Write Prometheus metrics of the run here.")
@click.option("--report", type=click.Choice(["html"]), help="Also write a page with charts: DIR/report.html.")
@click.option("--entries", is_flag=True, help="Also write every index entry as Parquet below --out.")
@click.option("--compaction", is_flag=True, help="Show what compaction would save, for every data topic.")
@click.option("--fresh", is_flag=True, help="Read everything again, even what --out has results for.")
@click.option("--spark-log", type=PATH, metavar="FILE", help="Write Spark's own log to this file.")
@reporting_options("kafka", "KX1")
@checking_options
def command(
    paths: tuple[str, ...],
    from_file: str | None,
    form: str,
    master: str,
    config: tuple[tuple[str, str], ...],
    out: str | None,
    table: str | None,
    metrics: str | None,
    report: str | None,
    entries: bool,
    compaction: bool,
    fresh: bool,
    spark_log: str | None,
    reporting: Reporting,
    checking: Checking,
) -> int:
    """Check a fleet's log dirs with Spark: the findings of `kidx verify`, and answers about the fleet.

    PATH is a directory, a tree or a pattern, local or in a store (s3://, gs://, hdfs://). Requires kidx[spark].
    """
    from kidx.pipeline.session import need_spark, spark_session

    need_spark()
    from kidx.checks.catalogue import RULES
    from kidx.pipeline.scanning import scan, store_at
    from kidx.report.findings.rows import summary_of
    from kidx.report.metrics import write_metrics
    from kidx.report.screens.fleet import render_fleet
    from kidx.report.screens.fleet_metrics import fleet_metrics
    from kidx.report.screens.fleet_page import fleet_page
    from kidx.report.screens.progress import ProgressLine

    for wanted, option in ((report, "--report"), (entries, "--entries"), (fresh, "--fresh")):
        if wanted and out is None:
            raise UsageError(f"{option} needs a place for the results; give one with --out DIR")
    options, expanded = checking.options(reporting.codes(RULES)), paths_from(paths, from_file)
    if out is not None:
        store_at(out, expanded)  # before Spark starts
    with ProgressLine() as progress:
        progress("starting Spark")
        with spark_session(master, dict(config), spark_log) as spark:
            extras = {"fresh": fresh, "entries": entries, "compaction": compaction}
            scanned = scan(spark, expanded, options, out=out, progress=progress, **extras)
            checked, fleet = scanned.checked(), scanned.summary()
            shown = fleet.tables(), fleet.counts()
            summary = summary_of(checked.findings, checked.coverage, status_of(checked, reporting.fail_level))
            if table is not None:
                scanned.append_to(table)
            if metrics is not None:
                write_metrics(metrics, fleet_metrics(scanned.as_object(summary)))
            if out is not None:
                size = scanned.inventory.bytes
                page = fleet_page(*shown, checked.findings, summary, size) if report else None
                scanned.store(summary, page)
    status = reporting.show(form, checked, RULES, expanded)
    if form == "text":
        render_fleet(*shown, sys.stdout)
    return status
