"""`kidx export`: records to files."""

from __future__ import annotations

from typing import Any

import click

from kidx.cli import options
from kidx.cli.export_options import export_options
from kidx.cli.export_request import asked_for, form_of, print_outcome, wanted_from
from kidx.cli.key_count import print_key_count
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.tier_options import tier_options
from kidx.cli.values import PATH
from kidx.errors import UsageError
from kidx.evidence import is_uri
from kidx.execution import usual_jobs

_EXAMPLES = options.examples(
    "kidx export --format parquet --output orders /kafka/data/orders-*",
    "kidx export --isolation read_committed payments-0 | jq .value",
    "kidx export --since 2026-01-31T12:00Z --format csv --output rest.csv data",
    "kidx export --deleted --manifest missing.json --output all.jsonl /mnt/data",
    "kidx export --format parquet --output orders --resume /kafka/data/orders-*",
    "kidx export --remote s3://tier --key-file main=private.pem data/orders-3",
)


@click.command(epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH...")
@from_file_option
@export_options
@tier_options
@options.max_inflate_option
def command(paths: tuple[str, ...], from_file: str | None, remote: tuple[str, ...], **given: Any) -> int:
    """Write the records of partitions to Parquet, Arrow, JSON lines or CSV, in the order of offsets, each offset once.

    PATH is a log, a partition's directory, a log dir, a remote tier, a tree, a pattern or a URI; --remote adds the
    segments that moved to a tier. Replicas of a partition count once: the longest is read, and the others only where it
    has damage or lacks a segment. An --output with a suffix (orders.parquet) is one file; without one it is a
    directory, with a file for each partition. A file appears under its name when it is complete.

    With --count and a key, nothing is exported: each file in any state that has the key is listed, with what removes it
    when. Exit status: 0 it is nowhere, 1 it is there, 3 something could not be read.

    Damage is skipped to the next whole batch, reported, and listed by --manifest. Exit status: 0 everything was
    exported, 1 something was damaged or missing, 3 something could not be read.
    """
    from kidx.export.run import STDOUT, export_to_directory, export_to_file, is_directory_output, write_manifest
    from kidx.export.sources import find_sources
    from kidx.report.screens.progress import ProgressBar
    from kidx.surgery.output import refuse_file, refuse_place

    expanded = paths_from(paths, from_file)
    if given["count"]:
        return print_key_count(expanded, given, remote)
    form, asked, output = form_of(given), asked_for(given), given["output"]
    into_directory = is_directory_output(output)
    if given["file_bytes"] is not None and not into_directory:
        raise UsageError("--file-size goes with an --output that is a directory")
    if given["resume"] and not into_directory:
        raise UsageError("--resume goes with an --output that is a directory")
    if into_directory:
        refuse_place(output, [*expanded, *remote])
    elif output != STDOUT:
        refuse_file(output)
    if given["manifest"] is not None:
        refuse_file(given["manifest"])
    sources, unread = find_sources(expanded, wanted_from(given), remote)
    with ProgressBar("exported") as progress:
        if into_directory:
            jobs = 1 if any(map(is_uri, [*expanded, *remote])) else given["jobs"] or usual_jobs()
            done = export_to_directory(
                sources, asked, form, output, jobs=jobs, resume=given["resume"], progress=progress
            )
        else:
            done = export_to_file(sources, asked, form, output, progress)
    unlisted = [str(e) for e in unread]
    status = print_outcome(done, unlisted)
    if given["manifest"] is not None:
        write_manifest(given["manifest"], done, unlisted, status)
    return status
