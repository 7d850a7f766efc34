"""Options for a key that records must have, and --count: which files still have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from kidx.cli.options import all_of
from kidx.errors import UsageError

key_options = all_of(
    click.option("--key", metavar="TEXT", help="Logs: only records with this key."),
    click.option("--key-sha256", metavar="HEX", help="Logs: only records whose key has this SHA-256."),
    click.option(
        "--count", is_flag=True, help="Logs: list the files in any state that have the key, and what removes it when."
    ),
)


def print_key_count(paths: Sequence[str], asked: Mapping[str, Any], remote: Sequence[str] = ()) -> int:
    """Print the files that still have a key; the exit status: 0 for none, 1 for some, 3 if not all could be read."""
    from kidx.export.key_search import key_table
    from kidx.export.sources import Wanted, find_sources
    from kidx.report.printing import print_table
    from kidx.segments.sought_key import sought_key

    key, form = sought_key(asked["key"], asked["key_sha256"]), asked["form"]
    if key is None:
        raise UsageError("--count needs a key; add --key or --key-sha256")
    if form in ("parquet", "arrow", "kafka"):
        raise UsageError(f"--count prints rows, which {form} does not; choose another --format")
    topics, partitions = set(asked.get("topics", ())) or None, set(asked.get("partitions", ())) or None
    sources, unread = find_sources(paths, Wanted(topics, partitions, all_states=True), remote)
    return print_table(key_table(sources, unread, key), form, iso=asked.get("iso", False))
