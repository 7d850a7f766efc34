"""`kidx dump --format kafka`: DumpLogSegments' own options, and its text on stdout and stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from kidx.cli.decoders import DECODERS
from kidx.cli.options import all_of
from kidx.cli.values import Bytes
from kidx.errors import UsageError
from kidx.report.printing import complain, each

if TYPE_CHECKING:
    from kidx.compat.dump_log_segments.dump import DumpLogSegments
    from kidx.tables.input_files import InputFile

KAFKA_OPTIONS = ("print_data_log", "deep_iteration", "skip_record_metadata", "max_bytes", "verify_index_only",
             "index_sanity_check", "decoder")  # fmt: skip
_OTHER_OPTIONS = ("low", "high", "head", "tail", "hexed", "iso", "records", "show", "redact", "key", "decode",
              "producer_id", "producer_epoch", "leader_epoch", "topic_family")  # fmt: skip
kafka_options = all_of(
    click.option("--print-data-log", is_flag=True, help="kafka: a log's records with keys and values."),
    click.option("--deep-iteration", is_flag=True, help="kafka: a log's records too."),
    click.option("--skip-record-metadata", is_flag=True, help="kafka: without records' offsets, sizes and headers."),
    click.option("--max-bytes", type=Bytes(most=2**31 - 1), help="kafka: only a log's first N bytes."),
    click.option("--verify-index-only", is_flag=True, help="kafka: compare indexes with logs, print no entries."),
    click.option("--index-sanity-check", is_flag=True, help="kafka: only a broker's sanity check of indexes."),
    *(
        click.option(f"--{word}-decoder", "decoder", flag_value=family, help=f"kafka: decode records of {topic}.")
        for word, topic, family in DECODERS
    ),
)


def given(asked: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The options of these names that were used."""
    return {name: asked[name] for name in names if asked.get(name) is not None and asked[name] is not False}


def kafka_run(asked: Mapping[str, Any]) -> DumpLogSegments:
    """A run of DumpLogSegments with its options. Raises UsageError for an option of the other formats."""
    from kidx.compat.dump_log_segments.dump import DumpLogSegments, DumpOptions

    if given(asked, _OTHER_OPTIONS):
        raise UsageError("--format kafka is DumpLogSegments' text, which can neither be narrowed nor shown otherwise")
    return DumpLogSegments(asked["base_offset"], DumpOptions(**given(asked, KAFKA_OPTIONS)))


def print_kafka_text(run: DumpLogSegments, paths: list[str], kind: str | None) -> int:
    """Print every file, then the complaints about all of them; the exit status. Raises UsageError."""
    from kidx.compat.dump_log_segments.dump import KINDS
    from kidx.tables.input_files import input_files
    from kidx.text.output import write_bytes

    def print_file(file: InputFile) -> int:
        try:
            write_bytes(sys.stdout, run.lines(file))
        finally:
            for message in run.take_messages():
                say(message.text) if message.of_the_tool else complain(message.text)
        return run.status

    def say(text: str) -> None:
        write_bytes(sys.stderr, [os.fsencode(text + "\n")])

    status = each(list(input_files(paths, kind, KINDS)), print_file)
    for text in run.complaints():
        say(text)
    return max(status, run.status)
