"""Where kidx and Kafka differ about damaged files, and why: `python -m tests.interop.differences --count 20000`.

Prints the tables of docs/differences.md. A complaint of Kafka's about a file that kidx calls clean has a class here, or
it is a bug; what only kidx finds is told by rule, with the reason why Kafka does not see it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kidx.checks.catalogue import RULES
from kidx.exit_status import CLEAN
from kidx.logdir.names import INDEX_OF_KIND, TIME
from tests.fuzz.hunt import prepare
from tests.interop.fuzzing import BESIDE, DEEP, PRINT, START, TOOL, Comparison, Judge, Seen

_COMPACTED = ("__consumer_offsets", "__transaction_state", "__share_group_state", "compacted")


class Class(NamedTuple):
    """A kind of false alarm: whether a complaint is one, and what is behind it."""

    name: str
    fits: Callable[[Seen, str, str], bool]
    why: str


def _log_zero_tail(seen: Seen, _: str, complaint: str) -> bool:
    told = "note KX312" in seen.default.rules
    return told and complaint in ("throws CorruptRecordException", "invalid bytes at the end", "truncates")


def _index_zero_tail(seen: Seen, question: str, complaint: str) -> bool:
    told = "note KX110" in seen.default.rules
    if question == START:
        return told and complaint.startswith(".timeindex throws CorruptIndexException")
    empty = not seen.mutated.data.strip(b"\0") and seen.kind in INDEX_OF_KIND
    return told and empty and question == TOOL


def _record_inside(seen: Seen, question: str, complaint: str) -> bool:
    asked = question == BESIDE or (seen.kind == TIME and question == TOOL)
    return asked and complaint == "offset not found"


def _compacted(seen: Seen, _: str, complaint: str) -> bool:
    return complaint == "non-consecutive offsets" and seen.case.directory.startswith(_COMPACTED)


def _follower(seen: Seen, question: str, complaint: str) -> bool:
    return complaint == "index mismatch" and question in (TOOL, BESIDE) and "note KX209" in seen.default.rules


FALSE_ALARMS = (
    Class(
        "a log's zero tail",
        _log_zero_tail,
        "With `log.preallocate` a log ends in zeros until its segment is rolled, so zeros there are no damage: kidx "
        "notes them (KX312). DumpLogSegments throws or counts invalid bytes, recovery cuts them off. Batches that were "
        "overwritten by zeros up to the end look the same; index entries or a next segment that reach further tell "
        "(KX201, KX205, KX503).",
    ),
    Class(
        "an index's zero tail",
        _index_zero_tail,
        "A live broker's indexes are preallocated: kidx notes the tail (KX110). DumpLogSegments takes entry 0 of an "
        "empty one for an entry at the base offset, and the sanity check that brokers made before 2.3 (and still make "
        "in a tiered-storage cache) takes the zeros at a time index's end for a timestamp of 0.",
    ),
    Class(
        "a time index entry that names a record inside a batch",
        _record_inside,
        "Brokers up to 3.x name the record that is the first to reach the timestamp, later ones its batch's last "
        "offset; both are healthy, and look-ups answer the same. DumpLogSegments knows the second form only.",
    ),
    Class(
        "missing offsets of a compacted topic",
        _compacted,
        "The cleaner removes records, offsets stay as they are. DumpLogSegments reports every gap as non-consecutive "
        "(and the first offset of every segment but the first).",
    ),
    Class(
        "an entry for a later batch",
        _follower,
        "Old followers and formats write one entry for an append of several batches; kidx notes it (KX209).",
    ),
)

_UNREAD = "No tool compares this file with anything, and a broker believes it."
_ROUNDED = "Kafka rounds an index's size down to whole entries, and prints and searches what is there."
_STOPS = "DumpLogSegments stops printing, and comparing, at the first later entry whose offset is the base offset."
_SEEN_ONLY = "DumpLogSegments prints it and judges nothing; a start has checked nothing of it since 2.3 (KAFKA-7283)."
_OUTSIDE_CRC = "The field is outside the CRC; DumpLogSegments prints it, and recovery does not compare it."
_PRODUCERS = "Recovery replays producers without the checks of an append; DumpLogSegments prints batch by batch."
BLIND_SPOTS = {
    "KX101": _ROUNDED,
    "KX102": _STOPS,
    "KX103": _STOPS + " Negative offsets before it are compared, and may hit a batch by chance.",
    "KX104": _SEEN_ONLY,
    "KX105": _SEEN_ONLY + " " + _STOPS,
    "KX106": _SEEN_ONLY + " " + _STOPS,
    "KX107": _SEEN_ONLY + " Timestamps are compared with the log's up to there.",
    "KX108": _SEEN_ONLY,
    "KX109": _STOPS,
    "KX111": _STOPS,
    "KX112": _UNREAD,
    "KX113": _SEEN_ONLY,
    "KX115": "Of a version's two bytes Kafka reads the first (AbortedTxn.version), and refuses only larger ones.",
    "KX116": _UNREAD,
    "KX117": _UNREAD,
    "KX201": _STOPS,
    "KX203": _STOPS,
    "KX204": _STOPS,
    "KX205": _STOPS,
    "KX206": "DumpLogSegments compares with the records' timestamps; kidx, without --deep, with the batch's header, "
    "which look-ups believe; and only kidx asks whether the timestamp is reached there first.",
    "KX207": _UNREAD,
    "KX303": "FileLogInputStream takes every magic byte above 2 for 2, and no CRC covers it: recovery and the tool "
    "read on, clients fail.",
    "KX304": "As KX303, at the end of the log.",
    "KX305": "Offsets are compared with --deep-iteration only, and a compacted log's are complained of in any case; "
    "recovery takes any order.",
    "KX306": "A batch that only Kafka can read counts as one here: its offsets are missing for clients (KX303).",
    "KX307": "A header that contradicts itself under a CRC that holds is printed; recovery looks at the CRC and the "
    "last offset.",
    "KX308": "Records are read with --deep-iteration only; their offsets and timestamps are not compared with the "
    "header, nor a wrapper's offset with its messages; control records of unknown types are skipped.",
    "KX309": "The tool prints whatever attributes there are.",
    "KX310": "Offsets are compared with the segment's range by recovery alone.",
    "KX401": _UNREAD,
    "KX402": _UNREAD,
    "KX404": _OUTSIDE_CRC,
    "KX405": _OUTSIDE_CRC,
    "KX406": "Kafka ignores bytes after the last producer of a snapshot where the CRC, which covers them, holds.",
    "KX407": "A sound snapshot is believed; nothing compares it with the log.",
    "KX408": _PRODUCERS,
    "KX409": "DumpLogSegments knows no producers; recovery alone throws, where it gets so far.",
    "KX505": "Kafka reads as many lines as are announced, and forgives what follows.",
}


class Tally:
    """Counts over many files, and a seed for each."""

    def __init__(self) -> None:
        self.files = self.both = self.neither = self.only_kafka = self.only_kidx = 0
        self.alarms: Counter[tuple[str, str]] = Counter()
        self.blind: Counter[str] = Counter()
        self.texts: Counter[tuple[str, bool]] = Counter()
        self.seeds: dict[object, int] = {}
        self.unclassed: list[tuple[int, str, str, str]] = []

    def add(self, seen: Seen) -> None:
        """Count one file."""
        self.files += 1
        complaints = list(seen.complaints())
        found = seen.deep.status != CLEAN or seen.default.status != CLEAN
        self.both += bool(complaints) and found
        self.only_kafka += bool(complaints) and not found
        self.only_kidx += found and not complaints
        self.neither += not found and not complaints
        for name in set(self._alarms(seen, complaints)):
            self.alarms[name] += 1
            self.seeds.setdefault(name, seen.seed)
        if not complaints and seen.default.status != CLEAN:
            for rule in {rule.split()[1] for rule in seen.default.rules if not rule.startswith("note")}:
                self.blind[rule] += 1
                self.seeds.setdefault(rule, seen.seed)
        for question, same in seen.texts.items():
            self.texts[question, same] += 1
            if not same:
                self.seeds.setdefault((question, same), seen.seed)

    def _alarms(self, seen: Seen, complaints: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        for question, complaint in complaints:
            if seen.verdict(question).status != CLEAN:
                continue
            known = next((c.name for c in FALSE_ALARMS if c.fits(seen, question, complaint)), None)
            if known is None:
                self.unclassed.append((seen.seed, f"{seen.case.name}/{seen.name}", question, complaint))
            else:
                yield known, question


def tables(tally: Tally) -> Iterator[str]:
    """The tables in Markdown, line by line."""
    yield (
        f"{tally.files:,} mutated files: {tally.both:,} that both object to, {tally.only_kafka:,} that Kafka alone "
        f"does, {tally.only_kidx:,} that kidx alone does, {tally.neither:,} that neither does."
    )
    yield from (
        "",
        "| their false alarm | raised by: files | a seed | why kidx calls the file clean |",
        "|---|---|---|---|",
    )
    for known in FALSE_ALARMS:
        raised = {question: count for (name, question), count in sorted(tally.alarms.items()) if name == known.name}
        if raised:
            said = ", ".join(f"{question}: {count:,}" for question, count in raised.items())
            yield f"| {known.name} | {said} | {tally.seeds[known.name, next(iter(raised))]} | {known.why} |"
    yield from ("", "| what only kidx finds | files | a seed | why Kafka does not |", "|---|---|---|---|")
    for rule, count in sorted(tally.blind.items()):
        link = f"[{rule}](rules.md#{rule.lower()}-{RULES[rule].name}) {RULES[rule].name}"
        yield f"| {link} | {count:,} | {tally.seeds[rule]} | {BLIND_SPOTS.get(rule, '(not explained)')} |"
    yield from ("", "| `--format kafka` | dumps | as the tool's | others | a seed |", "|---|---|---|---|---|")
    for question in (TOOL, DEEP, PRINT):
        same, others = tally.texts[question, True], tally.texts[question, False]
        yield f"| {question} | {same + others:,} | {same:,} | {others:,} | {tally.seeds.get((question, False), '')} |"


def compare(seeds: Iterable[int], scratch: Path) -> Tally:
    """Ask both about each seed's file."""
    tally, judge = Tally(), Judge()
    try:
        comparison = Comparison(scratch / "files", judge)
        for seed in seeds:
            tally.add(comparison.see(seed))
    finally:
        judge.close()
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.differences", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many mutated files, each of one seed")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--scratch", help="where the files are laid out; a file system in memory is quickest")
    asked = parser.parse_args()
    prepare()
    with tempfile.TemporaryDirectory(prefix="kidx-differences-", dir=asked.scratch) as scratch:
        tally = compare(range(asked.start, asked.start + asked.count), Path(scratch))
    print("\n".join(tables(tally)))
    for unclassed in tally.unclassed:
        print("no class:", *unclassed)
    return 1 if tally.unclassed else 0


if __name__ == "__main__":
    sys.exit(main())
