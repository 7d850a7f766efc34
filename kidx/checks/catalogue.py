"""Every rule of `kidx verify`, once: code, name, severity, title, what a broker would do, the story, the mend.

KX1xx need an index alone, KX2xx an index and its log, KX3xx the log, KX4xx transactions, producers and leader epochs,
KX5xx what lies beside a segment. Codes are stable: a rule that goes leaves its number unused. What is said of brokers
is read from Kafka's LogLoader, LogSegment, AbstractIndex and its children, TransactionIndex and RemoteIndexCache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kidx.errors import UsageError, meant
from kidx.findings import ERROR, NOTE, WARNING, Rule, Skipped

_REBUILD = "kidx rebuild DIRECTORY --output FIXED"
_LOADS_IT = (
    "Before 2.3 a broker checked at start only that the last entry is not before the first; since 2.3 (KAFKA-7283) "
    "it checks nothing: "
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
        "Before 2.3 a broker found the length wrong at start and rebuilt the segment's indexes; since 2.3 it maps "
        "the file, counts whole entries only and overwrites the rest with the next one. A tiered-storage cache "
        "refuses it. A transaction index is read up to its last whole entry, but the next one is appended after the "
        "torn bytes, and from there on every entry is misread.",
        "An index is always a whole number of entries long (8 bytes in .index, 12 in .timeindex, 34 in .txnindex): "
        "the broker sets its length itself. A torn one was cut by a copy that did not finish, a full disk, or a file "
        "system repaired after a crash. Entries before the tear are good. In an offset or time index nothing is lost "
        "but speed; in a transaction index an aborted transaction is, and read_committed consumers would see its "
        "records. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX102",
        "zero-entry",
        ERROR,
        "Zeros lie where an entry should be, with entries after them",
        _LOADS_IT
        + "its binary search may land on the zeros, take a wrong turn there, and answer with an entry far too early or "
        "too late; reading starts from the wrong place. In a transaction index it reads each as a transaction of "
        "producer 0, aborted at offset 0." + _TIERED,
        "Zeros at the end of an index are preallocation (KX110); zeros with entries after them are not: no append "
        "skips a slot. A page or sector was never written, or was lost: power loss, a snapshot of a disk in use, a "
        "sparse copy. In a transaction index even zeros at the end are damage, for it is never preallocated. "
        + _CONFIRM_BY_REBUILD,
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
        "overwritten data, or an offset further from the base than an int can say: old cleaners could join segments "
        "into such a one (KAFKA-5413, offset overflow); since 2.0 a broker splits it at start (KAFKA-6264). Look "
        "whether the segment's offsets span more than 2^31 (`kidx stat`): then the segment has to be split, else "
        "only the index is damaged. " + _CONFIRM_BY_REBUILD,
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
        _LOADS_IT
        + "its binary search relies on the order and may miss the right entry. A consumer may get an older batch first "
        "(and skip it), or a wrong OFFSET_OUT_OF_RANGE." + _TIERED,
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
        _LOADS_IT
        + "a look-up that ends on this entry starts reading the log at a wrong place. Starting too late, it misses the "
        "offset; starting inside a batch, it reads garbage (CorruptRecordException)." + _TIERED,
        "Later offsets lie later in the log, so positions rise with offsets. A position that does not was "
        "overwritten. fetchUpperBoundOffset, which searches by position, is misled too. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX107",
        "timestamp-order",
        ERROR,
        "Timestamps do not increase from entry to entry",
        "Before 2.3 a broker compared the last timestamp with the first at start and rebuilt if it was smaller; "
        "since 2.3 nobody looks. Time look-ups (offsetsForTimes, seek by time) take a wrong turn; and if it is the "
        "last entry, retention takes its timestamp for the segment's newest and may delete the segment too "
        "early." + _TIERED,
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
        "One that is not rebuilt is taken as full of entries, zeros included: look-ups go wrong, appends find no "
        "room (BufferOverflowException: KAFKA-12734, KAFKA-19200), and the last timestamp reads as 0, so that "
        "retention deletes the segment early (KAFKA-10207).",
        "A broker creates an index at its full size (segment.index.bytes, 10 MiB by default), fills it with zeros, "
        "and cuts it to its entries when the segment rolls or the log closes. So the active segment's indexes end in "
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
        "Before 2.3 a broker noticed it only where it was the last entry and smaller than the first; since 2.3 "
        "nobody looks. As the last entry it makes the segment look older than any retention time." + _TIERED,
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
        _LOADS_IT
        + "if only the offset or the position is wrong, look-ups that end on the entry start at a wrong place."
        + _TIERED,
        "A broker indexes a batch only when index.interval.bytes lie before it, so no entry has position 0, and none "
        "names the base offset itself: without an entry a look-up starts at the beginning anyway. "
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
        "A broker creates a .txnindex with its first entry, so that most segments have none. An empty one stays "
        "behind when a segment was truncated or recovered, or when a tool created it. It says nothing wrong; only a "
        "log with an ABORT marker would contradict it (KX401).",
    ),
    Rule(
        "KX115",
        "transaction-version",
        ERROR,
        "A transaction index entry has an unknown version",
        'Every version throws a KafkaException on a version above 0 ("Unexpected aborted transaction version"): '
        "loading the log fails at start, and so does every read_committed fetch that reaches the entry.",
        "The format has had version 0 since 0.11. Another number is overwritten data, or an entry that does not "
        "start where it should: after a torn entry (KX101) in the middle of a file all later ones are shifted. "
        + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX116",
        "transaction-order",
        ERROR,
        "Transactions' last offsets do not increase from entry to entry",
        "Not checked when loading. truncateTo stops at the first entry past its offset and may leave later ones "
        "behind; a reader that stops at the first last-stable offset past its range may miss aborted transactions, "
        "and a read_committed consumer gets their records.",
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
        "Both indexes get an entry at the same moment, except that a time index gets a last one when the segment "
        "rolls or the log closes. Several time entries past the last offset entry mean many restarts with little "
        "data in between, or an offset index that lost its end. Without the log they cannot be told apart.",
        _REBUILD,
    ),
)

_AGAINST_LOG = (
    Rule(
        "KX201",
        "position-past-end",
        ERROR,
        "An entry points past the end of the log",
        _LOADS_IT
        + "a look-up that ends on this entry finds nothing to read, and a fetch of an offset that is there answers as "
        "if it were not. DumpLogSegments throws on such an entry and skips the files after it." + _TIERED,
        "The log was cut, by a recovery, a copy that did not finish or by hand, and its index was not; or the index "
        "belongs to another log. A broker appends to the log first and to the index after it. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX203",
        "offset-index-position-not-a-batch",
        ERROR,
        "An offset index entry points into the middle of a batch",
        _LOADS_IT
        + "a fetch that ends on this entry reads a batch header from the wrong byte: CorruptRecordException, an offset "
        "out of nowhere, or a consumer that makes no progress." + _TIERED,
        "Every position in an offset index is a batch's first byte. A neighbouring byte or another batch's inside "
        "means that the entry was overwritten, or that the log and the index are of different generations (a log "
        "replaced by a replica's, whose batches lie elsewhere, beside the old index). " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX204",
        "offset-index-offset-not-a-batch-end",
        ERROR,
        "An offset index entry's offset is not the last one of the batch it points at, nor of one shortly after",
        _LOADS_IT
        + "too large an offset hides nothing until an offset between is looked up: the search then starts one entry "
        "earlier and is slower, no more. Too small a one sends the search past the offset it looks for." + _TIERED,
        "An entry says: the batches appended at this position end with this offset. Old followers and message format "
        "v0 and v1 write one entry for several batches, which is healthy (KX209); here no batch up to the next entry "
        "ends with the offset. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX205",
        "time-index-offset-not-found",
        ERROR,
        "A time index entry names an offset that no batch has",
        _LOADS_IT + "a look-up by time that ends on it starts at the entry's offset, past records that it should have "
        "found." + _TIERED,
        "Compaction keeps the offsets that a time index names, for it writes a new index beside the new log. So an "
        "offset in no batch is an overwritten entry or an index of another log. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX206",
        "time-index-timestamp-mismatch",
        ERROR,
        "A time index entry's timestamp is not the one first reached by the batch it names",
        _LOADS_IT
        + "look-ups by time go wrong by the difference; if it is the last entry, retention by time does, too."
        + _TIERED,
        "An entry says: with this offset the largest timestamp so far became this. The offset is the last one of the "
        "first batch with that maximum; brokers up to 3.x name the very record inside the batch, which is as "
        "healthy. DumpLogSegments' own check reports mismatches that are not there where an index has a zero tail. "
        + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX207",
        "max-timestamp-not-covered",
        WARNING,
        "The log holds a larger timestamp than its time index",
        "Retention by time goes by the time index's last entry, or by the file's modification time where there is "
        "none: the segment is deleted too early. Look-ups for times after the last entry may skip it.",
        "When a segment rolls or the log closes, the largest timestamp gets its entry and the index is cut to size. "
        "A cut index without it lost its end, or a missing one was made anew (KX502). " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX208",
        "sparse-index",
        NOTE,
        "Between two entries lies far more of the log than index.interval.bytes",
        "Readers walk further through the log than they need to; nothing else.",
        "A leader writes an entry after every index.interval.bytes (4096 by default). Entries further apart are left "
        "by appends of many batches at once (a follower that catches up, before KAFKA-806), by a full index, or by "
        "entries that were lost. A rebuilt index is dense again.",
        _REBUILD,
    ),
    Rule(
        "KX209",
        "later-batch",
        NOTE,
        "An offset index entry names a later batch than the one at its position",
        "Every version reads it without loss: the search starts at the position and walks on to the offset.",
        "Where one append brings several batches, brokers before KAFKA-806 write one entry: the position of the "
        "first batch and the last offset of the last one. Followers do so all the time. DumpLogSegments calls it a "
        "mismatch; it is healthy.",
    ),
)

_LOG = (
    Rule(
        "KX301",
        "batch-crc",
        ERROR,
        "A batch's bytes do not have its CRC",
        "No version checks a CRC when it serves a fetch: consumers get the batch and refuse it "
        "(CorruptRecordException) unless check.crcs is off. Followers check and stop fetching the partition. After "
        "an unclean stop recovery truncates the log at this batch if it lies past the recovery point, and everything "
        "after it is gone here.",
        "At least one bit of the batch changed after the producer sent it: disk, memory, controller, or a file "
        "system that lost a page. Nothing in the batch can be trusted; the batches around it are not affected. Look "
        "at a replica: `kidx diff` shows whether it has the batch. Restoring this replica is done by deleting the "
        "partition's directory of a stopped broker and letting it fetch anew; if it is the only good copy of what "
        "follows, save the file first.",
        "let this replica fetch the partition anew from a healthy one",
    ),
    Rule(
        "KX302",
        "torn-batch",
        ERROR,
        "The log ends inside a batch",
        "After an unclean stop, recovery of a segment past the recovery point truncates the log at this batch. A "
        "segment below it, or after a clean stop, is loaded as it is: reads of the last batch fail.",
        "The last append was not written out: power loss, a full disk, or a copy that did not finish. In the active "
        "segment of a running broker it is an append under way (--live knows that). What is missing was acknowledged "
        "only if other replicas have it.",
        "let the broker recover the segment, or fetch it from a replica",
    ),
    Rule(
        "KX303",
        "broken-batch",
        ERROR,
        "In the middle of the log, no batch can be read; further on they go on",
        "Every version reads from batch to batch by their lengths, so a fetch at or after this place fails "
        "(CorruptRecordException, or a batch too large to fetch). Recovery truncates the log here, and the sound "
        "batches behind go too; only a magic byte above 2 it takes for 2, and keeps what no consumer can read.",
        "A length or a magic byte was overwritten, or bytes were lost or added. kidx goes on with the next batch "
        "whose CRC holds, so that what lies behind is known: compare with a replica (`kidx diff`) before a broker's "
        "recovery cuts it off.",
        "let this replica fetch the partition anew from a healthy one",
    ),
    Rule(
        "KX304",
        "trailing-garbage",
        ERROR,
        "After the last batch come bytes that are no batch",
        "Reading stops there: the log end is taken from what can be read, new batches are appended after the "
        "garbage, and cannot be reached. Recovery after an unclean stop truncates the garbage away.",
        "Something else was written to the file, or a file system gave it another file's blocks after a crash. "
        "Batches before it are sound.",
        "let the broker recover the segment, or fetch it from a replica",
    ),
    Rule(
        "KX305",
        "batch-order",
        ERROR,
        "A batch begins with an offset that came before it",
        "No version notices when loading. A fetch finds the first batch that ends at or after its offset, and "
        "consumers see records twice, or skip some. A follower refuses such an append (OffsetsOutOfOrderException).",
        "Offsets rise from batch to batch. One that does not was written twice (a copy or repair that pasted pieces "
        "together), or its base offset, which no CRC covers, was overwritten.",
        "let this replica fetch the partition anew from a healthy one",
    ),
    Rule(
        "KX306",
        "offset-gap",
        WARNING,
        "Offsets are missing between two batches, though nothing was compacted here",
        "Every version skips the gap: consumers go on with the next offset there is, and never learn of the loss.",
        "Without compaction a log has every offset. Missing ones mean that batches were cut out, or that a base "
        "offset (which no CRC covers) was overwritten. kidx takes a partition for compacted if the cleaner's "
        "checkpoint names it, a batch has fewer records than offsets or a delete horizon, or it is one of Kafka's "
        "own compacted topics; a compacted topic of which only some files are here and that shows none of these is a "
        "false alarm.",
        "let this replica fetch the partition anew from a healthy one",
    ),
    Rule(
        "KX307",
        "batch-header",
        ERROR,
        "A batch's header contradicts itself",
        "The header is believed: wrong counts make consumers fail or stop, an unknown codec cannot be inflated.",
        "Number of records, last offset delta, base offset and codec must fit each other; what is transactional has a "
        "producer, and a transaction's marker is a batch of its own. The CRC holds, so the "
        "batch was written like this, by a broken client past a broker that did not validate it, or repaired by "
        "hand.",
    ),
    Rule(
        "KX308",
        "record-damage",
        ERROR,
        "A batch's records cannot be decoded, or do not fit its header",
        "Brokers do not look into batches that they serve: consumers fail on it with every attempt. The log cleaner "
        "dies on it, and compaction of the whole disk stops until the broker is restarted (since 1.1: of this "
        "partition).",
        "Found with --deep only, but for control batches, whose types are always looked at, and compressed messages "
        "before v2, which are inflated for their offsets. The CRC holds, so the batch was written like this: a broken "
        "client or compression library, or a tool that wrote the log.",
        "have consumers seek past the batch, or delete records up to it (kafka-delete-records)",
    ),
    Rule(
        "KX309",
        "segment-overflow",
        ERROR,
        "A batch's offset is too far from the segment's base for an index",
        "Since 2.0 a broker splits such a segment when it loads it (KAFKA-6264). Where a batch behind it is in range "
        "again, as after a flipped bit, the split is refused: recovery throws, and the broker does not start. Before "
        "2.0, appending to the index or recovery threw (IndexOffsetOverflowException), and the cleaner died.",
        "Indexes hold offsets relative to the base in 31 bits. Old versions could join segments into one whose "
        "offsets span more.",
    ),
    Rule(
        "KX310",
        "batch-outside-segment",
        ERROR,
        "A batch holds offsets that do not belong to its segment",
        "Segments are chosen by their names: records outside are never found, or found twice.",
        "A segment holds offsets from its name's up to the next segment's. The file was renamed, restored under "
        "another name, or a segment with another base was put beside it; an overwritten base offset looks the same.",
    ),
    Rule(
        "KX311",
        "future-timestamp",
        NOTE,
        "A timestamp lies in the future",
        "Retention by time goes by the segment's largest timestamp: the segment stays until that moment has passed, "
        "and so do all later ones. Look-ups by time find it for every time before.",
        "A producer's clock was wrong, or it counts in other units (microseconds). message.timestamp.after.max.ms "
        "(3.6 and later; message.timestamp.difference.max.ms before) refuses such records; log.retention.bytes still "
        "works.",
    ),
    Rule(
        "KX312",
        "log-zero-tail",
        NOTE,
        "The log ends in preallocated zeros",
        "With log.preallocate a new segment is zero-filled to its full size and cut to its batches when it rolls or "
        "the log closes. After an unclean stop recovery truncates the zeros.",
        "The zeros are no data. In the active segment, and after an unclean stop, they belong there; elsewhere "
        "nobody will cut them, or a file system lost blocks at the end of the file.",
    ),
)

_STATE = (
    Rule(
        "KX401",
        "aborted-transaction-missing",
        ERROR,
        "An aborted transaction is not in the transaction index",
        "Every version sends read_committed consumers the aborted transactions that its index lists. This one is not "
        "among them: its records are delivered as if they had been committed.",
        "When an ABORT marker ends a transaction, the broker lists it in the .txnindex of the segment that holds the "
        "marker. An entry or the file is missing. Recovery of the segment writes it anew, and so does a rebuild. "
        + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX402",
        "aborted-transaction-wrong",
        ERROR,
        "A transaction index entry contradicts the log",
        "Every version believes the index: read_committed consumers drop that producer's records from the first to "
        "the last offset that it says, and see records that it leaves out.",
        "Each entry stands for an ABORT marker in this segment: its producer, the transaction's first offset, the "
        "marker's, and the last stable offset when it was written. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX403",
        "open-transaction",
        NOTE,
        "A transaction has neither been committed nor aborted",
        "The last stable offset stays at its first offset: read_committed consumers get nothing after it, and the "
        "cleaner does not pass it. The coordinator aborts it after transaction.timeout.ms.",
        "A transaction was under way when the broker stopped or the files were copied. If it stays open for longer "
        "than its timeout it hangs (before KIP-890 a late append could start one without the coordinator's "
        "knowledge): kafka-transactions.sh find-hanging shows it, and abort ends it.",
    ),
    Rule(
        "KX404",
        "epoch-order",
        ERROR,
        "A batch has a smaller leader epoch than one before it",
        "Not checked when loading. Replicas truncate by leader epochs when a leader changes (KIP-101): with epochs "
        "out of order they may cut too much, or keep what differs.",
        "Epochs rise with every new leader. The epoch is outside the CRC, so overwritten bytes look the same as "
        "batches from two histories in one log.",
        "let this replica fetch the partition anew from a healthy one",
    ),
    Rule(
        "KX405",
        "epoch-mismatch",
        ERROR,
        "A batch's leader epoch is not the one that leader-epoch-checkpoint gives for its offset",
        "The checkpoint is believed when a leader changes (KIP-101): a replica may truncate at a wrong offset, and "
        "lose or keep records that the others do not have.",
        "leader-epoch-checkpoint says from which offset on an epoch holds; every batch carries its own. They differ "
        "where the file was restored from elsewhere, edited or lost lines, or the batch's epoch, which no CRC "
        "covers, was overwritten. A broker rebuilds the lines of segments that it recovers.",
    ),
    Rule(
        "KX406",
        "snapshot-damaged",
        ERROR,
        "A producer snapshot is damaged",
        "The broker logs it, deletes the file, takes the next older one, and reads the log from there on; without "
        "any it reads the whole log, which delays the start.",
        "The file is a version, a CRC and the producers' states. A damaged one costs time at the next start, no "
        "data: producer states come back from the log, as far as it reaches.",
    ),
    Rule(
        "KX407",
        "snapshot-contradicts-log",
        ERROR,
        "A producer snapshot says something else than the log",
        "The newest snapshot is believed at start: a wrong sequence number makes the broker refuse a producer's next "
        "batch (OutOfOrderSequenceException) or accept a duplicate; a wrong transaction holds the last stable offset "
        "back or lets it pass.",
        "A snapshot holds each producer's last batch and open transaction at its offset. It belongs to another log "
        "or was changed, or the log's end was cut off behind a broker's back (a snapshot of an offset past the end: "
        "recovery and truncation delete those). Delete it while the broker is stopped: it then reads the log from the "
        "next older snapshot on. But after a clean stop a broker that finds no snapshot at all takes it for an upgrade "
        "and starts without any producer, open transactions forgotten: where none is left, delete the log dir's "
        ".kafka_cleanshutdown, too, and it reads the whole log. Producers that are missing in a snapshot are no "
        "finding, unless their transaction is open: a broker forgets those that are silent for long. In a compacted "
        "partition less can be told.",
        "delete the .snapshot file of the stopped broker, but not the last one that is left",
    ),
    Rule(
        "KX408",
        "producer-sequence",
        WARNING,
        "A producer's batch does not follow the one before it",
        "Appending, a leader refuses such a batch (OutOfOrderSequenceException, InvalidProducerEpochException), unless "
        "it knows nothing of the producer. Followers and brokers that start take what is in the log.",
        "An idempotent producer numbers its records in each partition, from 0 in each epoch of its own, and its epoch "
        "never falls. A gap means that records are missing though no offset is, a number that comes again that "
        "records were written twice: the log was put together from two histories or written past a broker. A broker "
        "forgets a producer that is silent for producer.id.expiration.ms (a day; before 3.4 for "
        "transactional.id.expiration.ms, 7 days), and its state is lost with the snapshots: then it takes any "
        "number. Where that may be so (numbers that begin with 0 again, a day of silence, a new epoch that does not "
        "begin with 0) it is a note, to say that duplicates may have passed unnoticed. Compacted partitions are not "
        "looked at, for there batches are missing rightly.",
        "compare with a replica (`kidx diff`)",
    ),
    Rule(
        "KX409",
        "outside-transaction",
        ERROR,
        "A producer wrote outside its transaction while that was open",
        "Recovery throws InvalidTxnStateException at this batch, and so does a start that replays it because no later "
        "producer snapshot is there: the log is not loaded. A start after a clean stop does not look.",
        "A leader refuses such a batch, so none stands in a log as a broker wrote it. Either the batch's transactional "
        "bit is wrong, or that of the batch that seems to begin the transaction (both under a CRC that holds, so "
        "something wrote it that way), or the producer snapshot at the log's start claims a transaction that was not "
        "open. Is it the snapshot (the finding names a transaction from before the log's first segment), delete it "
        "while the broker is stopped.",
        "compare with a replica (`kidx diff`)",
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
        "Every segment has both, even if empty. One that is missing was deleted or not copied. kidx never creates "
        "it. " + _CONFIRM_BY_REBUILD,
        _REBUILD,
    ),
    Rule(
        "KX503",
        "segment-gap",
        WARNING,
        "Offsets are missing between two segments",
        "Every version loads the log as it is: consumers that reach the gap go on with the next segment.",
        "A segment begins with the offset after the last one of the segment before it. A segment in between was "
        "deleted by hand, not copied, or the end of the one before was cut off. In a compacted partition gaps are "
        "normal, and not reported.",
        "let this replica fetch the partition anew from a healthy one",
    ),
    Rule(
        "KX504",
        "interrupted-swap",
        NOTE,
        "Files of an unfinished compaction or split lie in the directory",
        "At the next start every version deletes .cleaned files (and .swap files at or after the first of them), "
        "deletes the segments that complete .swap files replace, and renames these to segments.",
        "The cleaner writes .cleaned files, renames them to .swap once all are complete, then removes the old "
        "segments and drops the suffix. Such files in a stopped broker's directory show where it was interrupted; in "
        "a running one's they come and go. Nothing is lost either way.",
    ),
    Rule(
        "KX505",
        "text-file-malformed",
        ERROR,
        "A checkpoint or properties file cannot be read as one",
        "A malformed offset checkpoint or leader-epoch-checkpoint is an IOException when it is read: the log dir "
        "goes offline or the broker does not start. Without meta.properties a log dir counts as new and is not "
        "formatted.",
        "These are small text files that the broker writes beside the old one and renames, so that a half-written "
        "one shows a file system that lost data, or an editor. An offset checkpoint may be deleted while the broker "
        "is stopped: the recovery point then is 0 (every log is recovered), the log start that of the first segment.",
    ),
)

RULES: dict[str, Rule] = {rule.code: rule for rule in (*_INDEX_ALONE, *_AGAINST_LOG, *_LOG, *_STATE, *_BESIDE)}


def find_rule(said: str, rules: Mapping[str, Rule] = RULES) -> Rule:
    """The rule with that code or name, in any case. Raises UsageError."""
    rule = rules.get(said.upper()) or next((r for r in rules.values() if r.name == said.lower()), None)
    if rule is None:
        near = meant(said, [r.name for r in rules.values()])
        raise UsageError(f"{said}: no rule has this code or name{near or '; `kidx explain` lists them'}")
    return rule


def codes_of(selection: Iterable[str], rules: Mapping[str, Rule] = RULES) -> frozenset[str]:
    """The codes that codes, names and prefixes of codes (KX1) mean together, among `rules`. Raises UsageError."""
    codes: set[str] = set()
    for said in filter(None, map(str.strip, selection)):
        matching = {code for code in rules if code.startswith(said.upper())}
        codes |= matching or {find_rule(said, rules).code}
    return frozenset(codes)


def left_out(chosen: frozenset[str] | None, rules: Mapping[str, Rule] = RULES) -> list[Skipped]:
    """What a choice of codes leaves out of `rules`, as a run's account tells of it; None is all of them."""
    missing = sorted(set(rules) - chosen) if chosen is not None else []
    if not missing:
        return []
    few = len(missing) <= 4
    what = (
        ", ".join(f"{code} {rules[code].name}" for code in missing) if few else f"{len(missing)} of {len(rules)} rules"
    )
    return [Skipped(what, "left out by --select or --ignore")]
