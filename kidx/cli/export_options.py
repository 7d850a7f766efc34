"""Options of `kidx export`, as arguments of kidx.export; and how its outcome is printed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kidx import exit_status
from kidx.cli.options import all_of
from kidx.cli.values import ANY_NUMBER, JOBS, Bytes, Number
from kidx.errors import UsageError
from kidx.report.printing import complain

if TYPE_CHECKING:
    from kidx.export.coverage import Coverage
    from kidx.export.reading import Asked, Bounds
    from kidx.export.rows import Form
    from kidx.export.sources import Wanted

_SHOWN_PROBLEMS = 20
_SMALLEST_FILE_BYTES = 1 << 20

export_options = all_of(
    click.option(
        "--format",
        "form",
        type=click.Choice(["parquet", "arrow", "jsonl", "csv"]),
        default="jsonl",
        show_default=True,
        help="The format of the output.",
    ),
    click.option(
        "--output",
        type=click.Path(readable=False),
        default="-",
        show_default=True,
        metavar="FILE|DIR|-",
        help="Where records are written.",
    ),
    click.option(
        "--encoding",
        type=click.Choice(["utf8", "base64", "hex", "json"]),
        default="utf8",
        show_default=True,
        help="jsonl and csv: keys, values and headers. base64 and hex are exact; utf8 writes other bytes as \\xNN.",
    ),
    click.option("--columns", metavar="NAME,...", help="Only these columns.  [default: all]"),
    click.option("--from", "low", metavar="BOUND", help="Records from here on: an offset, or an ISO time."),
    click.option("--to", "high", metavar="BOUND", help="Records up to this one, itself included."),
    click.option("--since", metavar="TIME", help="Records with a timestamp at or after this: ISO 8601, or ms."),
    click.option("--until", metavar="TIME", help="Records with a timestamp up to this one, itself included."),
    click.option("--key", metavar="TEXT", help="Only records with this key."),
    click.option("--key-sha256", metavar="HEX", help="Only records whose key has this SHA-256."),
    click.option("--producer-id", type=ANY_NUMBER, help="Only records of this producer."),
    click.option("--topic", "topics", multiple=True, help="Only this topic; repeatable."),
    click.option("--partition", "partitions", type=Number(), multiple=True, help="Only this partition; repeatable."),
    click.option(
        "--isolation",
        type=click.Choice(["read_uncommitted", "read_committed"]),
        default="read_uncommitted",
        show_default=True,
        help="read_committed leaves out aborted records, and all from the first open transaction on.",
    ),
    click.option("--control", is_flag=True, help="Export transaction markers and other control records, too."),
    click.option("--damaged", is_flag=True, help="Export what can be decoded of batches with a wrong CRC, too."),
    click.option("--deleted", is_flag=True, help="Fill holes from files marked .deleted, .swap or .cleaned."),
    click.option(
        "--manifest",
        type=click.Path(readable=False),
        metavar="FILE",
        help="Write what was exported, damaged and missing to this file.",
    ),
    click.option(
        "--file-size", "file_bytes", type=Bytes(_SMALLEST_FILE_BYTES), help="Begin another file before one is larger."
    ),
    click.option("--resume", is_flag=True, help="Continue an export into the same directory that was interrupted."),
    click.option("--jobs", type=JOBS, help="Partitions exported at a time.  [default: 2, at most one for each CPU]"),
)


def form_of(given: Mapping[str, Any]) -> Form:
    """The form of the output."""
    from kidx.export.rows import Form

    columns = given["columns"]
    names = tuple(name.strip() for name in columns.split(",")) if columns else None
    return Form(given["form"], names, given["encoding"], given["file_bytes"])


def wanted_from(given: Mapping[str, Any]) -> Wanted:
    """Which topics, partitions and files are wanted."""
    from kidx.export.sources import Wanted

    return Wanted(set(given["topics"]) or None, set(given["partitions"]) or None, given["deleted"])


def asked_for(given: Mapping[str, Any]) -> Asked:
    """Which records are wanted. Raises UsageError for a bound that is neither an offset nor a time."""
    from kidx.export.reading import Asked

    offsets, times = _bounds(given)
    return Asked(
        offsets,
        times,
        None if given["key"] is None else os.fsencode(given["key"]),
        None if given["key_sha256"] is None else _digest(given["key_sha256"]),
        given["producer_id"],
        given["isolation"] == "read_committed",
        given["control"],
        given["damaged"],
    )


def _bounds(given: Mapping[str, Any]) -> tuple[Bounds, Bounds]:
    from kidx.tables.selection import parse_bound

    ends: dict[str, list[int | None]] = {"offset": [None, None], "timestamp": [None, None]}
    texts = [(given["low"], 0), (given["high"], 1)]
    texts += [(f"time:{text}" if text else None, end) for text, end in ((given["since"], 0), (given["until"], 1))]
    for text, end in texts:
        bound = parse_bound(text)
        if bound is None:
            continue
        field = bound.field or "offset"
        if field not in ends:
            raise UsageError(f"{text}: records are chosen by offset or timestamp, not by {field}")
        if ends[field][end] is not None:
            raise UsageError(f"{text}: there are two such bounds on the {field}; give one")
        ends[field][end] = bound.value
    return (ends["offset"][0], ends["offset"][1]), (ends["timestamp"][0], ends["timestamp"][1])


def _digest(text: str) -> bytes:
    try:
        digest = bytes.fromhex(text)
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise UsageError(f"--key-sha256 {text}: a SHA-256 has 64 hexadecimal digits")
    return digest


def print_outcome(done: Sequence[Coverage], unread: Sequence[str]) -> int:
    """Say on stderr what was not exported; the exit status."""
    sentences = [*unread, *(sentence for coverage in done for sentence in coverage.sentences())]
    for sentence in sentences[:_SHOWN_PROBLEMS]:
        complain(sentence)
    if len(sentences) > _SHOWN_PROBLEMS:
        complain(f"{len(sentences) - _SHOWN_PROBLEMS} more such messages; --manifest FILE has all of them")
    status = max((coverage.status for coverage in done), default=exit_status.CLEAN)
    return exit_status.UNREADABLE if unread else status
