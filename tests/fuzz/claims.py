"""What has to hold of every run, whatever the bytes are; each broken claim is a find, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kidx.evidence import from_bytes
from kidx.exit_status import CLEAN, FINDINGS, UNREADABLE, USAGE
from kidx.formats.batches import LEGACY_CRC_START
from kidx.formats.indexes import TIME_INDEX
from kidx.logdir.names import INDEX_OF_KIND, PRODUCER_SNAPSHOT, TIME, base_offset_of
from kidx.segments.walk import walk
from tests.fuzz.corpus import Case, kind_of
from tests.fuzz.mutate import IN_PLACE, LOGS, Mutated
from tests.support import Ran

_CRC_START = LEGACY_CRC_START - 4  # of v0 and v1; in v2 the leader epoch is there, which no checksum covers


def well_behaved(words: list[str], ran: Ran) -> Iterator[str]:
    """A documented status, something said where it is not 0, no traceback, no warning of Python's."""
    if ran.status == USAGE and b"give --config FILE" in ran.err:
        return  # the slots of RocketMQ's index files are written down nowhere; a guess failed
    if ran.status not in (CLEAN, FINDINGS, UNREADABLE):
        yield f"status {ran.status}: {ran.err[-600:].decode()}"
    elif b"Traceback" in ran.err or b"Warning" in ran.err:
        yield f"on standard error: {ran.err[-600:].decode()}"
    elif not ran.out.strip() and not ran.err.strip() and not _may_be_silent(words):
        yield f"status {ran.status}, and nothing said"


def honest(case: Case, name: str, mutated: Mutated, files: Mapping[str, bytes], ran: Ran) -> Iterator[str]:
    """What `verify` says is consistent with itself and the files, and bytes that checksums or entries cover count."""
    if ran.status not in (CLEAN, FINDINGS, UNREADABLE):
        return
    *found, summary = ran.rows
    if summary["exit_status"] != ran.status:
        yield f"its summary says status {summary['exit_status']}, and it is {ran.status}"
    worst = {row["severity"] for row in found}
    if ran.status == CLEAN and worst - {"note"}:
        yield f"clean, with {worst}"
    if case.rocketmq:
        return
    whole = sum(map(len, files.values()))
    if ran.status == CLEAN and (summary["skipped"] or summary["unreadable"] or summary["bytes_checked"] != whole):
        left_out = [skip for skip in summary["skipped"] if "no log next to it" not in skip["why"]]
        if left_out or summary["unreadable"] or summary["bytes_checked"] != whole:
            yield f"clean, with {summary['bytes_checked']} of {whole} bytes checked, and skipped: {left_out}"
    if ran.status == CLEAN:
        yield from _counted(files, summary)
    if not found and ran.status == CLEAN and (where := covered_change(case.files, name, mutated)) is not None:
        yield f"nothing found, and byte {where} of {name} is another"


def _counted(files: Mapping[str, bytes], summary: Mapping[str, Any]) -> Iterator[str]:
    batches = sum(len(list(walk(from_bytes(data)))) for name, data in files.items() if kind_of(name) in LOGS)
    if summary["batches"] != batches:
        yield f"clean, with {summary['batches']} batches checked of {batches}"


def covered_change(files: Mapping[str, bytes], name: str, mutated: Mutated) -> int | None:
    """The first changed byte that a checksum or the log holds to what it was; None where there is none.

    `files` are the case's own. Only changes in place count: whole entries or batches that are gone or doubled leave no
    gap in what covers them.
    """
    original, data = files[name], mutated.data
    if not IN_PLACE.issuperset(mutated.verbs) or mutated.repaired or len(data) != len(original):
        return None
    changed = [at for at, (a, b) in enumerate(zip(original, data, strict=True)) if a != b]
    kind = kind_of(name)
    if kind in LOGS:
        spans = [
            range(batch.position + (16 if batch.magic == 2 else _CRC_START), batch.next_position)
            for batch in walk(from_bytes(original))
        ]
        return next((at for at in changed if any(at in span for span in spans)), None)
    if kind == TIME:
        log = next(files[other] for other in files if kind_of(other) in LOGS)
        return next(
            (at for at in changed if not _same_batch(log, original, data, at, base_offset_of(name, None))), None
        )
    if kind == PRODUCER_SNAPSHOT or kind in INDEX_OF_KIND:
        return changed[0] if changed else None
    return None


def _same_batch(log: bytes, original: bytes, data: bytes, at: int, base_offset: int) -> bool:
    """Whether a changed time index entry names a batch's other record: its first to reach a timestamp, or its last."""
    start = at - at % TIME_INDEX.size
    if start + TIME_INDEX.size > len(data):
        return False
    old, new = (TIME_INDEX.struct.unpack_from(content, start) for content in (original, data))
    named = [
        next((b.position for b in walk(from_bytes(log)) if b.last_offset >= offset + base_offset), None)
        for _, offset in (old, new)
    ]
    return old[0] == new[0] and named[0] == named[1]


def _may_be_silent(words: list[str]) -> bool:
    """Whether nothing at all is an answer: csv, jsonl or plain rows of a file without any."""
    return words[0] in (
        "dump",
        "rocketmq",
        "lookup",
        "trim",
        "truncate",
        "append",
        "rebuild",
        "state",
        "compact",
        "stat",
    )
