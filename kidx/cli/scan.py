"""`kidx scan`: the checks of `kidx verify` over a fleet, on Spark."""

from __future__ import annotations

import sys

import click

from kidx.cli.checking import checking_options, options_of
from kidx.cli.options import color_option, format_option, from_file_option, paths_from, wants_color


@click.command(
    epilog="""\b
Examples:
  kidx scan /mnt/brokers/*/data
  kidx scan --out nightly --report html --format junit /mnt/brokers > kidx.xml
  kidx scan --master spark://spark:7077 --out s3://audit/kidx s3://backup

Exit status: 0 clean, 1 findings at or above --fail-level, 3 something could not be read or checked."""
)
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="PATH...")
@from_file_option
@format_option("junit", "sarif", "github")
@click.option(
    "--master",
    metavar="URL",
    default="local[*]",
    show_default=True,
    help="Spark's master: local[N], spark://..., yarn, k8s://...",
)
@click.option(
    "--conf", "config", multiple=True, metavar="NAME=VALUE", help="A setting of Spark's own; may be repeated."
)
@click.option(
    "--out",
    type=click.Path(readable=False),
    metavar="DIR",
    help="Keep results here (or at a URI), and next time read only what has changed.",
)
@click.option("--report", type=click.Choice(["html"]), help="Write a page with pictures, too: DIR/report.html.")
@click.option("--entries", is_flag=True, help="Write every index entry as Parquet below --out, too.")
@click.option("--compaction", is_flag=True, help="Say what compaction would save, of every data topic.")
@click.option("--fresh", is_flag=True, help="Read everything again, whatever --out holds from before.")
@click.option(
    "--spark-log",
    type=click.Path(dir_okay=False, readable=False),
    help="Where Spark's own log goes.  [default: nowhere]",
)
@checking_options
@color_option
def command(
    paths: tuple[str, ...],
    from_file: str | None,
    form: str,
    master: str,
    config: tuple[str, ...],
    out: str | None,
    report: str | None,
    entries: bool,
    compaction: bool,
    fresh: bool,
    spark_log: str | None,
    fail_level: str,
    select: str | None,
    ignore: str | None,
    quick: bool,
    deep: bool,
    sample: str | None,
    live: bool,
    every: bool,
    verbose: bool,
    base_offset: int | None,
    color: str,
) -> int:
    """Check a fleet's log dirs with Spark: the findings of `kidx verify`, and answers about the fleet.

    PATH is a directory, a tree or a pattern, here or in a store (s3://, gs://, hdfs://). Needs kidx[spark].
    """
    from kidx.cli import complain
    from kidx.cli.fleet import FleetProgress, keep_results, settings_of
    from kidx.cli.verdict import print_verdict, status_of

    settings = settings_of(master, config, out, report, entries, compaction, fresh, spark_log)
    options = options_of(select, ignore, quick, deep, sample, live, base_offset)
    asked = paths_from(paths, from_file)
    from kidx.pipeline.scan import scan

    with FleetProgress() as progress:
        scanned = scan(asked, options, settings, progress)
    checked = scanned.checked
    for sentence in checked.unread:
        complain(sentence)
    failing, status = status_of(checked, fail_level)
    keep_results(settings, scanned, status, report)
    print_verdict(form, checked, failing, status, asked, color=wants_color(color), every=every, verbose=verbose)
    if form == "text":
        from kidx.report.screens.fleet import render_fleet

        render_fleet(scanned.fleet.tables, sys.stdout)
    return status
