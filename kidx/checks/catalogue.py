"""Every rule of `kidx verify`, once: code, name, severity, title, what a broker would do, the story, the mend.

KX1xx need an index alone, KX2xx an index and its log, KX3xx the log, KX4xx transactions, producers and leader epochs,
KX5xx what lies beside a segment. Codes are stable: a rule that goes leaves its number unused. What is said of brokers
is read from Kafka's LogLoader, LogSegment, AbstractIndex and its children, TransactionIndex and RemoteIndexCache.
"""

from __future__ import annotations

from collections.abc import Iterable

from kidx.errors import UsageError
from kidx.findings import ERROR, NOTE, WARNING, Rule

_REBUILD = "kidx rebuild DIRECTORY --output FIXED"
_LOADS_IT = (
    "Before 2.3 a broker checked at start only that the last entry is not before the first; since 2.3 (KAFKA-7283) it "
    "checks nothing: "
)
_TIERED = " A tiered-storage cache (RemoteIndexCache) still makes the old check of the last entry when it loads a file."
_CONFIRM_BY_REBUILD = (
    "To confirm, rebuild the index from its log into another directory and compare: `kidx rebuild DIRECTORY --output "
    "FIXED`, then `kidx diff`. The log is the truth, an index only a shortcut into it; replace the one file with the "
    "rebuilt one while the broker is stopped. Deleting every index of the broker, the folk remedy, makes it read "
    "every log again at its next start."
)

_INDEX_ALONE = (
    Rule(
        "KX101",
        "torn-entry",
        ERROR,
        "The file ends inside an entry",
        "Before 2.3 a broker found the length wrong at start and rebuilt the segment's indexes; since 2.3 it maps the "
        "file, counts whole entries only and overwrites the rest with the next one. A tiered-storage cache refuses it. "
        "A transaction index is read up to its last whole entry, but the next one is appended after the torn bytes, "
        "and from there on every entry is misread.",
        "An index is always a whole number of entries long (8 bytes in .index, 12 in .timeindex, 34 in .txnindex): the "
        "broker sets its length itself. A torn one was cut by a copy that did not finish, a full disk, or a file "
        "system repaired after a crash. Entries before the tear are good. In an offset or time index nothing is "
        "lost but speed; in a transaction index an aborted transaction is, and read_committed consumers would see its "
        "records. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX102",
        "zero-entry",
        ERROR,
        "Zeros lie where an entry should be, with entries after them",
        _LOADS_IT + "its binary search may land on the zeros, take a wrong turn there, and answer with an entry far "
        "too early or too late; reading starts from the wrong place." + _TIERED,
        "Zeros at the end of an index are preallocation (KX110); zeros with entries after them are not: no append "
        "skips a slot. A page or sector was never written, or was lost: power loss, a snapshot of a disk in use, a "
        "sparse copy. In a transaction index even zeros at the end are damage, for it is never preallocated; a "
        "broker reads them as a transaction that was aborted at offset 0. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX103",
        "negative-offset",
        ERROR,
        "An entry's relative offset is negative",
        "Before 2.3 a broker noticed it at start in the last entry alone (last offset below the base offset) and "
        "rebuilt the indexes; since 2.3 nobody looks. Its search takes a wrong turn at such an entry." + _TIERED,
        "A relative offset is an offset minus the segment's base offset, 0 to 2,147,483,647. A negative one is "
        "overwritten data, or an offset further from the base than an int can say: old cleaners could "
        "join segments into such a one (KAFKA-5413, offset overflow); since 2.0 a broker splits it at start "
        "(KAFKA-6264). Look whether the segment's offsets span "
        "more than 2^31 (`kidx stat`): then the segment has to be split, else only the index is damaged. "
        + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX104",
        "offset-overflow",
        ERROR,
        "Base offset and relative offset add up to more than any offset",
        _LOADS_IT + "the sum wraps to a negative number in its arithmetic." + _TIERED,
        "Offsets are 64-bit signed. Base offsets near 2^63 do not occur in practice, so the file's name is usually "
        "what is wrong: compare it with the first batch of the .log.",
        "rename the file to the base offset of its segment",
    ),
    Rule(
        "KX105",
        "offset-order",
        ERROR,
        "Offsets do not increase from entry to entry",
        _LOADS_IT + "its binary search relies on the order and may miss the right entry. A consumer may get "
        "an older batch first (and skip it), or a wrong OFFSET_OUT_OF_RANGE." + _TIERED,
        "A broker refuses to append an offset that is not larger than the last (InvalidOffsetException; in a time "
        "index: smaller). Out of order means that bytes were overwritten or moved: a bad disk, two writers on one "
        "directory, a restored copy that was patched together. The slot reported is the one whose removal restores "
        "the order, where that can be told. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX106",
        "position-order",
        ERROR,
        "Positions in the log do not increase from entry to entry",
        _LOADS_IT + "a look-up that ends on this entry starts reading the log at a wrong place. Starting too late, it "
        "misses the offset; starting inside a batch, it reads garbage (CorruptRecordException)." + _TIERED,
        "Later offsets lie later in the log, so positions rise with offsets. A position that does not was overwritten. "
        "fetchUpperBoundOffset, which searches by position, is misled too. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX107",
        "timestamp-order",
        ERROR,
        "Timestamps do not increase from entry to entry",
        "Before 2.3 a broker compared the last timestamp with the first at start and rebuilt if it was smaller; since "
        "2.3 nobody looks. Time look-ups (offsetsForTimes, seek by time) take a wrong turn; and if it is the last "
        "entry, retention takes its timestamp for the segment's newest and may delete the segment too early." + _TIERED,
        "A time index holds the largest timestamp so far, so it can only rise: records out of order in time do not "
        "unsettle it. One that falls or repeats was not written by a broker. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX108",
        "duplicate-entry",
        WARNING,
        "An entry is the same as the one before it",
        _LOADS_IT + "a look-up that ends on either entry finds the same place, so readers notice nothing." + _TIERED,
        "A broker never appends the same entry twice. Harmless to readers, but it shows that something else wrote to "
        "the file, or that a slot's own content was overwritten by its neighbour's. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX109",
        "negative-position",
        ERROR,
        "An entry's position in the log is negative",
        _LOADS_IT + "a look-up that ends on this entry asks the log for a negative position and fails.",
        "A segment is at most 2^31-1 bytes, so positions are 0 to 2,147,483,647. A negative one is overwritten data. "
        + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX110",
        "zero-tail",
        NOTE,
        "The end of the index is preallocated zeros",
        "After an unclean stop a broker rebuilds the indexes of segments from its recovery point on, and trims them. "
        "One that is not rebuilt is taken as full of entries, zeros included: look-ups go wrong, appends find no room "
        "(BufferOverflowException: KAFKA-12734, KAFKA-19200), and the last timestamp reads as 0, so that retention "
        "deletes the segment early (KAFKA-10207).",
        "A broker creates an index at its full size (segment.index.bytes, 10 MiB by default), fills it with zeros, and "
        "cuts it to its entries when the segment rolls or the log closes. So the active segment's indexes end in "
        "zeros, and so do those that an unclean stop left behind: a note. Where a later segment exists and the stop "
        "was clean nobody will ever trim it: then it is a warning. The zeros are no data: kidx reads the entries "
        "before them as usual, where DumpLogSegments ends in silence or prints them as offset 0.",
        "kidx trim FILE",
    ),
    Rule(
        "KX111",
        "negative-timestamp",
        ERROR,
        "An entry's timestamp is negative",
        "Before 2.3 a broker noticed it only where it was the last entry and smaller than the first; since 2.3 nobody "
        "looks. As the last entry it makes the segment look older than any retention time." + _TIERED,
        "A time index gets an entry when the largest timestamp so far grows, starting from -1 (none): a negative one "
        "is never written. The bytes were overwritten. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX112",
        "offset-beyond-segment",
        ERROR,
        "An entry's offset belongs to the next segment or a later one",
        _LOADS_IT + "look-ups for offsets near the end of the segment are led past it and find nothing." + _TIERED,
        "A segment holds offsets from its own base up to the next segment's. An index that goes further belongs to "
        "another segment (renamed, restored under the wrong name), was overwritten, or describes a log that was "
        "truncated since. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX113",
        "first-entry-at-base",
        ERROR,
        "An offset index entry names the segment's very beginning",
        _LOADS_IT + "if only the offset or the position is wrong, look-ups that end on the entry start at a wrong "
        "place." + _TIERED,
        "A broker indexes a batch only when index.interval.bytes lie before it, so no entry has position 0, and "
        "none names the base offset itself: without an entry a look-up starts at the beginning anyway. "
        + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX114",
        "empty-transaction-index",
        NOTE,
        "The transaction index is there but empty",
        "Every version opens it and finds no aborted transaction, as if it were not there. A tiered-storage cache "
        "makes such files itself.",
        "A broker creates a .txnindex with its first entry, so that most segments have none. An empty one stays behind "
        "when a segment was truncated or recovered, or when a tool created it. It says nothing wrong; only a log with "
        "an ABORT marker would contradict it (KX401).",
    ),
    Rule(
        "KX115",
        "transaction-version",
        ERROR,
        "A transaction index entry has an unknown version",
        'Every version throws a KafkaException on a version above 0 ("Unexpected aborted transaction version"): '
        "loading the log fails at start, and so does every read_committed fetch that reaches the entry.",
        "The format has had version 0 since 0.11. Another number is overwritten data, or an entry that does not start "
        "where it should: after a torn entry (KX101) in the middle of a file all later ones are shifted. "
        + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX116",
        "transaction-order",
        ERROR,
        "Transactions' last offsets do not increase from entry to entry",
        "Not checked when loading. truncateTo stops at the first entry past its offset and may leave later ones "
        "behind; a reader that stops at the first last-stable offset past its range may miss aborted transactions, and "
        "a read_committed consumer gets their records.",
        "A transaction gets its entry when its ABORT marker is appended, so the markers' offsets rise; a broker "
        "refuses anything else. Out of order means overwritten or patched. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX117",
        "transaction-offsets",
        ERROR,
        "A transaction index entry's offsets contradict each other or the segment",
        "Every version checks at start that no last offset is below the base offset, and rebuilds the segment's "
        "indexes if one is. The other offsets are believed: a wrong first or last offset hides records or shows "
        "aborted ones to read_committed consumers.",
        "A transaction's first offset is not after its last (its marker), the marker lies in this segment, and the "
        "last stable offset was at most the one after the marker, and never fell. An entry that breaks one of these "
        "was overwritten. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX118",
        "indexes-apart",
        NOTE,
        "The time index goes on where the offset index has ended",
        "No version compares the two. Look-ups by time then walk further through the log than they need.",
        "Both indexes get an entry at the same moment, except that a time index gets a last one when the segment rolls "
        "or the log closes. Several time entries past the last offset entry mean many restarts with little data in "
        "between, or an offset index that lost its end. Without the log they cannot be told apart.",
        _REBUILD,
    ),
)

_BESIDE = (
    Rule(
        "KX501",
        "orphan-file",
        WARNING,
        "An index has no log beside it, though other segments have",
        'Every version deletes an index without a log when it loads the directory ("Found an orphaned index file").',
        "The .log of this base offset is missing: deleted by hand, not copied, or the index was left behind by an "
        "interrupted deletion. If neighbouring segments leave a gap in offsets where it was (KX503), data is "
        "missing; if they do not, the file is a left-over.",
    ),
    Rule(
        "KX502",
        "missing-index",
        WARNING,
        "A log has no offset index or no time index",
        'Without an offset index a broker recovers the segment at start ("Could not find offset index file"): it reads '
        "the whole log and rebuilds its indexes. A missing time index it makes anew, empty, and rebuilds nothing: "
        "look-ups by time then walk the segment from its start, and retention goes by the file's modification time.",
        "Every segment has both, even if empty. One that is missing was deleted or not copied. kidx never creates it. "
        + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX504",
        "interrupted-swap",
        NOTE,
        "Files of an unfinished compaction or split lie in the directory",
        "At the next start every version deletes .cleaned files (and .swap files at or after the first of them), "
        "deletes the segments that complete .swap files replace, and renames these to segments.",
        "The cleaner writes .cleaned files, renames them to .swap once all are complete, then removes the old segments "
        "and drops the suffix. Such files in a stopped broker's directory show where it was interrupted; in a running "
        "one's they come and go. Nothing is lost either way.",
    ),
)

RULES: dict[str, Rule] = {rule.code: rule for rule in (*_INDEX_ALONE, *_BESIDE)}
_BY_NAME = {rule.name: rule for rule in RULES.values()}


def find_rule(said: str) -> Rule:
    """The rule with that code or name, in any case. Raises UsageError."""
    rule = RULES.get(said.upper()) or _BY_NAME.get(said.lower())
    if rule is None:
        raise UsageError(f"{said}: no rule has this code or name; `kidx explain` lists them")
    return rule


def codes_of(selection: Iterable[str]) -> frozenset[str]:
    """The codes that codes, names and prefixes of codes (KX1) mean together. Raises UsageError."""
    codes: set[str] = set()
    for said in filter(None, map(str.strip, selection)):
        matching = {code for code in RULES if code.startswith(said.upper())}
        codes |= matching or {find_rule(said).code}
    return frozenset(codes)
