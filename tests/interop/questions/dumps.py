"""The text of DumpLogSegments, byte for byte."""

from __future__ import annotations

import re

from tests.interop.questions import Case, run

_INDEX_OPTIONS = ((), ("--index-sanity-check",), ("--verify-index-only",))
_LOG_OPTIONS = ((), ("--print-data-log",), ("--deep-iteration",), ("--print-data-log", "--skip-record-metadata"))
_KINDS = {
    ".index": _INDEX_OPTIONS,
    ".timeindex": _INDEX_OPTIONS,
    ".txnindex": ((),),
    ".snapshot": ((),),
    ".log": _LOG_OPTIONS,
    ".checkpoint": ((), ("--cluster-metadata-decoder",)),
}
# What begins a file's part of each stream. Several files' complaints come in the order of a Java HashMap.
_HEADS = {
    "dump": rb"Dumping",
    "dump.complaints": rb"(?:Non-consecutive offsets|Mismatches|Found timestamp mismatch|Found out of order timestamp|"
    rb"The following indexed offsets are not found) in",
}
_DECODERS = {
    "__consumer_offsets-0": "--offsets-decoder",
    "__transaction_state-0": "--transaction-log-decoder",
    "__cluster_metadata-0": "--cluster-metadata-decoder",
}


def dumps(case: Case) -> None:
    """Every file that the tool knows, with every option; a log also up to a number of bytes."""
    for suffix, variants in _KINDS.items():
        pairs = [(ours, theirs) for ours, theirs, _ in case.files(suffix)]
        if not pairs:
            continue
        decoder = _DECODERS.get(case.partition.name)
        for options in variants:
            _compare(case, suffix, options, pairs)
        if suffix == ".log":
            _compare(case, suffix, ("--max-bytes", str(case.chance.randrange(1, 20000))), pairs)
            if decoder:
                _compare(case, suffix, (decoder,), pairs)


def _compare(case: Case, suffix: str, options: tuple[str, ...], pairs: list[tuple]) -> None:
    out, err = case.scratch / "out", case.scratch / "err"
    (thrown,) = case.kafka.ask("dump", out, err, *options, "--files", ",".join(str(theirs) for _, theirs in pairs))
    ran = run("dump", "--format", "kafka", *options, *(ours for ours, _ in pairs))
    asked = ("dump", *options, case.partition, suffix)
    case.ledger.compare("dump.thrown", asked, ran.status == 70, thrown != "-")
    there, here = f"{case.copy}/".encode(), f"{case.partition}/".encode()
    theirs = out.read_bytes().replace(there, here), err.read_bytes().replace(there, here)
    for name, part, own in zip(_HEADS, theirs, (ran.out, ran.err), strict=True):
        said, told = _by_file(own, _HEADS[name]), _by_file(part, _HEADS[name])
        for file in sorted(said | told):
            case.ledger.compare(name, (*asked, file), _first_apart(said, told, file), _first_apart(told, said, file))


def _by_file(text: bytes, head: bytes) -> dict[str, bytes]:
    """The text of each file, by the line that names it."""
    parts = re.split(rb"^(" + head + rb" .*\n)", text, flags=re.M)
    named = dict(zip((p.decode().strip() for p in parts[1::2]), parts[2::2], strict=True))
    return named | {"before the first": parts[0]}


def _first_apart(mine: dict[str, bytes], other: dict[str, bytes], name: str) -> object:
    """The first line of mine that is not the other's, with its number; None where all are the same."""
    if mine.get(name) == other.get(name):
        return None
    lines, others = (said.get(name, b"(nothing)").split(b"\n") for said in (mine, other))
    for number, line in enumerate(lines):
        if number >= len(others) or line != others[number]:
            return number + 1, line.decode(errors="backslashreplace")
    return len(lines), "(its end)"
