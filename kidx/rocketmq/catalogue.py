"""Every rule of `kidx rocketmq verify`, once: code, name, severity, title, what a broker would do, the story, the mend.

KXR1xx: files and queue units; KXR2xx: the commit log; KXR3xx: the index; KXR4xx: checkpoint and abort. Codes are
stable. What is said of brokers is read from the store of RocketMQ 4.9.8 and 5.5.1.
"""

from __future__ import annotations

from kidx.findings import ERROR, NOTE, WARNING, Rule

_REBUILD = (
    "stop the broker, move consumequeue/TOPIC/QUEUE (or index/) aside and start it: queues and index are rebuilt from "
    "the commit log, as far as it still goes back"
)
_UNIT = (
    "A consumer that pulls this offset gets the wrong bytes or none (MESSAGE_WAS_REMOVING); a time search that probes "
    "the unit takes a wrong turn or throws."
)
_LOG = (
    "Recovery stops at the first record that does not hold together and cuts off all that follows, if it is among "
    "the files it looks at; further back nobody notices until a consumer reads there."
)
_LOG_STORY = (
    "The commit log is the truth of the store: queues and index are made of it. Damage here is lost data unless a "
    "slave has it: compare with `kidx rocketmq diff MASTER SLAVE`, the logs are the same byte for byte."
)

_RULES = (
    Rule(
        "KXR101",
        "wrong-length",
        ERROR,
        "A file is not as long as its configuration says",
        "The whole store refuses to load, of whatever queue the file is. (A last file of 0 bytes: 5.x deletes it.)",
        "Every file of a series has the same, configured length, zero-filled from the start. Another length is a copy "
        "that did not finish, or another configuration: without --config kidx takes the commonest length for the right "
        "one.",
        "copy the file again, or give kidx the broker's --config",
    ),
    Rule(
        "KXR102",
        "missing-file",
        ERROR,
        "A file is missing from the middle of a series",
        "Loads (the log says: adjacent files' offsets don't match). Reading the missing part finds nothing; offsets "
        "after the gap are found by walking the list of files.",
        "Files of a series are named by the offset they start at, one file length apart. Brokers delete from the front "
        "only, so a gap was made by hand or by a broken copy.",
        "bring the file back from a copy or a slave",
    ),
    Rule(
        "KXR103",
        "stray-file",
        WARNING,
        "A file that belongs to no series",
        "The broker takes every file in these directories for one of its own: it refuses to load, for the length is "
        "wrong, or the name is no number.",
        "Editors' backups, notes and half-copied files do not belong into a store's directories.",
        "move it elsewhere before a broker starts on this store",
    ),
    Rule(
        "KXR110",
        "phantom-file",
        WARNING,
        "The last queue file is all zero",
        "Recovery takes its first unit for data: a phantom (0, 0, 0) and a max offset one too high; a time search that "
        "probes it throws IndexOutOfBoundsException.",
        "A crash between creating a queue file and writing its first unit leaves a file of zeros.",
        "remove the zero file while the broker is stopped",
    ),
    Rule(
        "KXR111",
        "hole",
        ERROR,
        "Units that are none lie before units that are",
        "Recovery of the last three files ends at the first invalid unit (offset below 0, size not above 0) and "
        "forgets all units after it; in older files the hole stays, and pulls across it stop.",
        "Units are appended one after another, so zeros or negative numbers in the middle are pages that were never "
        "written or were lost.",
        _REBUILD,
    ),
    Rule(
        "KXR112",
        "pre-blank",
        NOTE,
        "The queue's first file begins with pre-blank units",
        "They count as valid in recovery and lead nowhere: offset 0, size 2147483647.",
        "When a queue's first file is made at an offset other than 0, all units before that offset are filled with "
        "(0, 2147483647, 0). Normal where queue files were deleted and rebuilt.",
    ),
    Rule(
        "KXR113",
        "misplaced-pre-blank",
        ERROR,
        "A pre-blank unit where none can be",
        _UNIT,
        "Pre-blank units are written at the head of a queue's first file only.",
        _REBUILD,
    ),
    Rule(
        "KXR114",
        "unit-order",
        ERROR,
        "Commit-log offsets of a queue do not rise",
        "Nothing checks it. Consumers get messages out of order, or one twice; the min offset's search goes astray.",
        "A queue's units are written in the order of the commit log, so each points further than the one before it.",
        _REBUILD,
    ),
    Rule(
        "KXR120",
        "past-log-end",
        ERROR,
        "A unit points past the commit log's end",
        "Dropped when the broker loads, if the unit is among those recovery looks at.",
        "The queue knows of a message that the commit log lost: the log was cut (a crash, a copy taken earlier than "
        "the queue's), the queue was not. After an unclean stop this is expected, and only a warning.",
        "nothing, if the messages are lost; the broker drops the units",
    ),
    Rule(
        "KXR121",
        "expired-units",
        NOTE,
        "Units of messages that are deleted already",
        "Skipped: the queue's min offset lies after them. A pull below that is answered OFFSET_TOO_SMALL.",
        "The commit log is deleted by age, a queue file only when all its units are gone; so a queue usually begins "
        "with units that lead nowhere.",
    ),
    Rule(
        "KXR122",
        "no-message",
        ERROR,
        "A unit points at something that is no message",
        _UNIT,
        "At the unit's offset the commit log has no message head. Either the unit or the log is damaged: the log's own "
        "findings (KXR201) tell which.",
        _REBUILD,
    ),
    Rule(
        "KXR123",
        "size-mismatch",
        ERROR,
        "A unit's size is not its message's",
        "The consumer gets a message cut short, or one with the next one's bytes behind it, and fails to decode it.",
        "A unit repeats the size that the message itself has in its first four bytes.",
        _REBUILD,
    ),
    Rule(
        "KXR124",
        "tag-mismatch",
        ERROR,
        "A unit's tag code is not its message's",
        "The broker filters by this code, so consumers of that tag miss the message or get one of another tag; for a "
        "delayed message it is the delivery time, and it is delivered at the wrong time.",
        "The code is the Java hash of the message's TAGS; of delayed messages the delivery time (checked against the "
        "default delay levels).",
        _REBUILD,
    ),
    Rule(
        "KXR125",
        "queue-offset-mismatch",
        ERROR,
        "A message has another queue offset than its unit",
        "Nothing checks it: the consumer gets the message under the unit's offset and sees the other in the message.",
        "A message carries its number in the queue; its unit stands at that number times 20. Units shifted by one are "
        "a unit lost or doubled.",
        _REBUILD,
    ),
    Rule(
        "KXR126",
        "foreign-message",
        ERROR,
        "A unit points at a message of another queue",
        "The consumer gets a message of another topic or queue.",
        "Topic and queue id stand in the message. A unit that leads to another queue's message was overwritten, or its "
        "file belongs to another queue's directory.",
        _REBUILD,
    ),
    Rule(
        "KXR127",
        "min-offset-quirk",
        NOTE,
        "The broker's min offset is not the first message it can serve",
        "A consumer that starts at the min offset meets units that lead nowhere before the first message.",
        "How a broker finds a queue's min offset when it loads has known blind spots: pre-blank units when the commit "
        "log starts at 0, and a first queue file that is expired as a whole while later ones are not.",
    ),
    Rule(
        "KXR130",
        "ext-unit",
        ERROR,
        "A unit's consumequeue_ext address leads to no such message's unit",
        "The broker filters without the bitmap and says in its log that it cannot find the content.",
        "With enableConsumeQueueExt a unit's tag code can be an address in consumequeue_ext, whose unit repeats the "
        "tag's hash and the store time.",
        "remove consumequeue and consumequeue_ext of the queue and let the broker rebuild them",
    ),
    Rule(
        "KXR140",
        "batch-unit",
        ERROR,
        "A batch unit does not agree with its message or its neighbours",
        _UNIT,
        "A batch unit repeats the message's store time, base offset and count (INNER_BASE, INNER_NUM); each batch "
        "begins where the one before it ended.",
        _REBUILD,
    ),
    Rule("KXR201", "damaged-message", ERROR, "The commit log holds bytes that are no message", _LOG, _LOG_STORY),
    Rule(
        "KXR202",
        "torn-message",
        WARNING,
        "The last message is incomplete",
        "Recovery cuts it off, and the units and index entries that point to it.",
        "A crash while the last message was written, or a copy of a store in use. The producer was not told it was "
        "stored, unless flushing is asynchronous.",
    ),
    Rule(
        "KXR203",
        "body-crc",
        ERROR,
        "A message's body does not have its CRC",
        "Recovery stops here (checkCRCOnRecover, on by default). The client finds it out when it decodes the message.",
        _LOG_STORY,
    ),
    Rule(
        "KXR204",
        "property-crc",
        ERROR,
        "A message does not have the CRC in its last property",
        "Checked in recovery only with forceVerifyPropCRC (5.2 on).",
        "With enabledAppendPropCRC the last 20 bytes are a property __CRC32# over all bytes before it: header, topic "
        "and properties too, which the body's CRC does not cover. " + _LOG_STORY,
    ),
    Rule(
        "KXR205",
        "physical-offset-mismatch",
        ERROR,
        "A message says it lies elsewhere in the commit log",
        "A recovering 5.x dispatches by the offset in the message, so its unit points elsewhere; a master's log is "
        "sent to slaves as it is.",
        "A message carries its own commit-log offset. Another one means that bytes were copied to the wrong place, or "
        "the file has the wrong name.",
        "give the file its right name, or copy it again",
    ),
    Rule(
        "KXR206",
        "unclosed-file",
        ERROR,
        "A commit-log file that is not the last one ends without a blank record",
        _LOG,
        "When a message does not fit, the broker writes a blank record (size and magic) and goes on in the next file. "
        "A file that ends in zeros while later ones hold messages was cut or was not copied whole. " + _LOG_STORY,
    ),
    Rule(
        "KXR207",
        "message-without-unit",
        ERROR,
        "A message that its queue does not know",
        "Consumers do not get it. At its next start the broker dispatches what lies after the queues' end; messages "
        "further back stay unknown.",
        "Units are written by a dispatch that runs behind the commit log. After an unclean stop the last few messages "
        "may wait for it (a warning then).",
        _REBUILD,
    ),
    Rule(
        "KXR208",
        "data-after-end",
        WARNING,
        "Bytes after the end of the commit log",
        "Overwritten by the next messages; recovery never looks at them.",
        "The last file is zero from the log's end on. Other bytes are what recovery cut off at an earlier start, or "
        "messages behind a damaged record (KXR201).",
    ),
    Rule(
        "KXR209",
        "time-goes-back",
        NOTE,
        "Store times go back in the commit log",
        "Searches by time bisect as if times rose, and may give another message than the first of that time.",
        "The clock of the machine was set back, or the log is a slave's of a master whose clock was.",
    ),
    Rule(
        "KXR301",
        "index-unreadable",
        ERROR,
        "An index file's header cannot be",
        "Loaded without a check; look-ups by key give nothing or wrong messages.",
        "Counts below 1 or above what the file holds, an end before its begin, or a file too short for its header.",
        _REBUILD,
    ),
    Rule(
        "KXR302",
        "index-chain",
        ERROR,
        "A chain of the index is broken",
        "A look-up by key that follows it stops early, or wanders into another chain: messages are not found.",
        "A slot holds the newest entry of its chain, each entry the one before it; slots are hash modulo slots.",
        _REBUILD,
    ),
    Rule(
        "KXR303",
        "index-entry",
        ERROR,
        "An index entry does not agree with its message",
        "A look-up by that key misses the message, or finds one that has not the key.",
        "An entry holds the hash of topic#key of one of its message's keys and where that message starts.",
        _REBUILD,
    ),
    Rule(
        "KXR304",
        "index-header",
        WARNING,
        "An index file's header does not agree with its entries",
        "The header's times decide whether a look-up opens the file at all.",
        "The header repeats the first and the last entry's offset and store time, and how many slots are in use. It is "
        "flushed apart from the entries, so after an unclean stop it may be behind.",
        _REBUILD,
    ),
    Rule(
        "KXR305",
        "expired-entries",
        NOTE,
        "Index entries of messages that are deleted already",
        "Answered as offsets that lead nowhere; the broker drops them when it reads the messages.",
        "Index files are deleted whole, when their last message is gone.",
    ),
    Rule(
        "KXR306",
        "index-shape",
        WARNING,
        "How many slots an index file has cannot be told",
        "The broker takes its configuration's numbers, whatever the file was made with.",
        "Slots and entries are configuration (maxHashSlotNum, maxIndexNum) and recorded nowhere. kidx infers them from "
        "the chains; where these do not agree with any shape the file is damaged, or has no entry.",
        "give the broker's properties with --config",
    ),
    Rule(
        "KXR401",
        "unclean-stop",
        WARNING,
        "The broker did not stop in order",
        "The next start recovers: it walks the commit log, cuts off what is incomplete, and writes units and index "
        "entries again.",
        "abort is made at start and deleted by an orderly stop: the broker was killed, or this is a copy of a running "
        "one (abort holds its process id since 5.x). kidx answers look-ups as after that recovery.",
    ),
    Rule(
        "KXR402",
        "checkpoint",
        WARNING,
        "The checkpoint cannot be",
        "After an unclean stop recovery starts at the first file whose first message is older than the checkpoint: one "
        "too late skips what was not flushed.",
        "Its times are store times of messages that were flushed, so none is later than the last message; it is one "
        "page of 4,096 bytes.",
    ),
)

RULES = {rule.code: rule for rule in _RULES}
