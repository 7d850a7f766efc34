"""The lines that Kafka's DumpLogSegments prints for index entries, word for word.

Source: org.apache.kafka.tools.DumpLogSegments, 4.3.1.
"""

from __future__ import annotations

from kidx.report.digits import LineForm, Number


def _line(*names: str) -> LineForm:
    pieces = [f"{' ' if i else ''}{name}: ".encode() for i, name in enumerate(names)]
    return LineForm([*pieces, b"\n"], [Number()] * len(names))


# By index kind: the columns that its line names, in order, and the line.
INDEX_LINES: dict[str, tuple[tuple[str, ...], LineForm]] = {
    "offset_index": (("offset", "position"), _line("offset", "position")),
    "time_index": (("timestamp", "offset"), _line("timestamp", "offset")),
    "transaction_index": (
        ("version", "producer_id", "first_offset", "last_offset", "last_stable_offset"),
        _line("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset"),
    ),
}
