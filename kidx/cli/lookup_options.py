"""Options of `kidx lookup` for an index, a transaction index or a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kidx.cli.options import all_of
from kidx.cli.tier_options import tier_options
from kidx.cli.values import BROKER_VERSION, OFFSET, Bytes
from kidx.errors import UsageError

if TYPE_CHECKING:
    from kidx.tables.table import Table

index_search_options = all_of(
    click.option(
        "--by",
        type=click.Choice(["key", "value"]),
        default="key",
        show_default=True,
        help="Compare keys (offsets; a time index's timestamps) or values (positions; its offsets).",
    ),
    click.option(
        "--bound",
        type=click.Choice(["lower", "upper"]),
        default="lower",
        show_default=True,
        help="The last entry at or below the target, or the first at or above it.",
    ),
    click.option("--fetch-from", type=OFFSET, help="Transaction index: a fetch's first offset."),
    click.option("--fetch-to", type=OFFSET, help="Transaction index: the offset after a fetch's last."),
)
log_read_options = all_of(
    tier_options,
    click.option("--offset", type=OFFSET, help="Log: the batch and record at this offset."),
    click.option(
        "--timestamp",
        metavar="TIME",
        help="Log: the first record at or past this time; of a partition also latest (-1), earliest (-2), "
        "max-timestamp (-3), earliest-local (-4), with --remote latest-tiered (-5) and earliest-pending-upload (-6).",
    ),
    click.option("--start", type=OFFSET, help="Log: with --timestamp, no record before this offset."),
    click.option(
        "--isolation",
        type=click.Choice(["read_uncommitted", "read_committed"]),
        help="Log: show whether a consumer of this isolation sees the record.",
    ),
    click.option("--max-bytes", type=Bytes(), help="Log: with --offset, the slice that a fetch of that size gets."),
    click.option(
        "--broker-version",
        type=BROKER_VERSION,
        help="Log: answer as this broker does, by default as the newest known. max-timestamp: unknown before "
        "3.0; 3.0 to 3.7 answer with the offset in the time index, mostly its batch's last; 3.8 and later with the "
        "record's. earliest-local: since 3.5. Index: before 2.2 the standard search, unless --search says otherwise.",
    ),
)


def log_table(path: str, asked: Mapping[str, Any], page_bytes: int | None) -> Table:
    """The table for a segment or a partition. Raises UsageError for contradictory options, CannotRead."""
    from kidx.formats.broker_versions import NEWEST
    from kidx.lookup.partition import SPECIAL
    from kidx.tables.log_lookups import find_table, read_table
    from kidx.text.quantities import timestamp_ms

    offset, timestamp = asked["offset"], asked["timestamp"]
    if len(asked["targets"]) == 1 and offset is timestamp is asked["from_file"] is None:
        (target,) = asked["targets"]
        offset, timestamp = (OFFSET.convert(target, None, None), None) if target.isdigit() else (None, target)
    elif asked["targets"] or asked["from_file"] or (offset is None) == (timestamp is None):
        raise UsageError(f"{path}: for a log, give one of --offset, --timestamp and a single target")
    if offset is None and asked["max_bytes"] is not None:
        raise UsageError("--max-bytes belongs to --offset: it cuts the slice that a fetch from there gets")
    if timestamp is None and asked["start"] is not None:
        raise UsageError("--start belongs to --timestamp; a read starts at --offset")
    where = {name: asked[name] for name in ("base_offset", "isolation", "remote")} | {"page_bytes": page_bytes}
    if offset is not None:
        return read_table(path, offset, max_bytes=asked["max_bytes"], **where)
    time = SPECIAL[timestamp] if timestamp in SPECIAL else timestamp_ms(timestamp)
    return find_table(path, time, start=asked["start"], broker_version=asked["broker_version"] or NEWEST, **where)


def check_index_question(path: str, asked: Mapping[str, Any], relative: bool) -> None:
    """Raises UsageError for options that do not fit this index; `relative` indexes are searched for targets."""
    from kidx.evidence import STDIN_NAMES

    fetch = asked["fetch_from"], asked["fetch_to"]
    if not relative:
        if asked["targets"] or None in fetch:
            raise UsageError(f"{path}: a transaction index takes --fetch-from OFFSET and --fetch-to OFFSET, no targets")
        return
    if fetch != (None, None):
        raise UsageError(f"{path}: --fetch-from and --fetch-to are for a transaction index; name targets instead")
    if path in STDIN_NAMES and ("-" in asked["targets"] or asked["from_file"] in STDIN_NAMES):
        raise UsageError("standard input cannot be both the index and its targets; name one of them")
    if not asked["targets"] and asked["from_file"] is None:
        raise UsageError("no target given; name offsets (times for a time index), or `-` for standard input")
