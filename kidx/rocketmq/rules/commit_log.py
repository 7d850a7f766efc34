"""The commit log's files: what lies in them, how they end, and messages that no queue knows."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.rules.texts import DAMAGED_LOG, LOG_STORY, REBUILD
from kidx.rocketmq.subjects.log_file import LogFile, Undispatched
from kidx.rocketmq.subjects.log_window import LogWindow
from kidx.rocketmq.subjects.whole_store import WholeStore

DAMAGED_MESSAGE = Rule(
    "KXR201", "damaged-message", ERROR, "The commit log holds bytes that are no message", DAMAGED_LOG, LOG_STORY
)
TORN_MESSAGE = Rule(
    "KXR202",
    "torn-message",
    WARNING,
    "The last message is incomplete",
    "Recovery cuts it off, and the units and index entries that point to it.",
    "A crash while the last message was written, or a copy of a store in use. The producer got no confirmation for "
    "it, unless flushing is asynchronous.",
)
PHYSICAL_OFFSET = Rule(
    "KXR205",
    "physical-offset-mismatch",
    ERROR,
    "A message states another commit-log offset than the one it lies at",
    "A recovering 5.x dispatches by the offset in the message, so its unit points elsewhere; a master's log is "
    "sent to slaves unchanged.",
    "A message carries its own commit-log offset. Another one means that bytes were copied to the wrong place, or "
    "the file has the wrong name.",
    "give the file its right name, or copy it again",
)
UNCLOSED_FILE = Rule(
    "KXR206",
    "unclosed-file",
    ERROR,
    "A commit-log file that is not the last one ends without a blank record",
    DAMAGED_LOG,
    "When a message does not fit, the broker writes a blank record (size and magic) and goes on in the next file. "
    "A file that ends in zeros while later ones hold messages was cut or was not copied whole. " + LOG_STORY,
)
MESSAGE_WITHOUT_UNIT = Rule(
    "KXR207",
    "message-without-unit",
    ERROR,
    "A message that has no unit in its queue",
    "Consumers do not get it. At its next start the broker dispatches what lies after the queues' end; messages "
    "further back stay unknown.",
    "Units are written by a dispatch that runs behind the commit log. After an unclean stop the last few messages "
    "may not be dispatched yet (a warning then).",
    REBUILD,
)
DATA_AFTER_END = Rule(
    "KXR208",
    "data-after-end",
    WARNING,
    "Bytes after the end of the commit log",
    "Overwritten by the next messages; recovery never reads them.",
    "The last file is zero from the log's end on. Other bytes are what recovery cut off at an earlier start, or "
    "messages behind a damaged record (KXR201).",
)
TIME_GOES_BACK = Rule(
    "KXR209",
    "time-goes-back",
    NOTE,
    "Store times go back in the commit log",
    "Searches by time bisect as if times increased, and may give another message than the first of that time.",
    "The clock of the machine was set back, or the log is a slave's of a master whose clock was.",
)
MISSING_LOG = Rule(
    "KXR210",
    "missing-log",
    ERROR,
    "The commit log is missing or empty, and queues or index lead into it",
    "Without commit-log files every version deletes all queue files at its next start and begins again at offset 0 "
    "(the log says: The commitlog files are deleted, and delete the consume queue files). With files of zeros it drops "
    "every unit. Nothing is served either way.",
    "All messages are in the commit log, so they are lost here, or the log lies elsewhere: in other directories "
    "(storePathCommitLog), or in a copy that was not complete. Do not start a broker on this store: it destroys what "
    "the queues still say about the lost messages. (Read from 4.5.2, 4.7.1, 4.9.3, 4.9.8, 5.0.0, 5.2.0, 5.3.1, 5.4.0 "
    "and 5.5.1.)",
    "restore commitlog from a copy or a slave; where it lies elsewhere, give --commit-log DIR or the broker's --config",
)


@asked_of(WholeStore)
def missing_log(store: WholeStore) -> Iterator[Finding]:
    """Units or index entries, and no commit log that they lead into."""
    if store.log_empty and store.point_into_log:
        what = "its files hold nothing but zeros" if store.layout.commit_log else "it has no files"
        text = f"the commit log: {what}, and {store.point_into_log:,} units and index entries lead into it"
        yield MISSING_LOG.finding(f"{store.layout.root}/commitlog", text, found=store.point_into_log)


@asked_of(LogFile)
def damaged_message(file: LogFile) -> Iterator[Finding]:
    """Bytes between messages that are no message."""
    for gap in file.gaps:
        yield DAMAGED_MESSAGE.finding(file.path, f"no message here: {gap.reason}", span=(gap.start, gap.stop))


@asked_of(LogFile)
def torn_message(file: LogFile) -> Iterator[Finding]:
    """An incomplete last message of the log."""
    if file.torn_at is not None:
        text = f"the last message, at {file.base + file.torn_at}, is incomplete"
        yield TORN_MESSAGE.finding(file.path, text, span=(file.torn_at, max(file.torn_at + 1, file.end)))


@asked_of(LogWindow)
def physical_offset(window: LogWindow) -> Iterator[Finding]:
    """Messages whose own offset is not where they lie."""
    stated = window.head["physical_offset"]
    for i in (stated != window.at).nonzero()[0].tolist():
        at, found = int(window.at[i]), int(stated[i])
        text = f"the message at {at} says it lies at {found}"
        yield PHYSICAL_OFFSET.finding(window.path, text, span=window.span(i), expected=at, found=found)


@asked_of(LogFile)
def unclosed_file(file: LogFile) -> Iterator[Finding]:
    """A file without a blank record while later ones hold messages."""
    if not file.last and not file.closed and file.end < file.size:
        text = f"its messages end at byte {file.end} without a blank record, and later files hold messages"
        yield UNCLOSED_FILE.finding(file.path, text, span=(file.end, file.size))


@asked_of(Undispatched)
def message_without_unit(without: Undispatched) -> Iterator[Finding]:
    """Messages that the dispatch gives a unit and that have none."""
    for message in without.messages:
        text = f"{message.topic}/{message.queue_id} has no unit {message.queue_offset} that leads here"
        span = message.position, message.position + message.size
        severity = WARNING if without.unclean else None
        yield MESSAGE_WITHOUT_UNIT.finding(message.path, text, span=span, severity=severity)


@asked_of(LogFile)
def data_after_end(file: LogFile) -> Iterator[Finding]:
    """A byte other than zero after the log's end."""
    first = file.data_after_end
    if first is not None:
        text = f"the commit log ends at byte {file.end} of this file, and byte {first} is not zero"
        yield DATA_AFTER_END.finding(file.path, text, span=(first, file.size))


@asked_of(LogFile)
def time_goes_back(file: LogFile) -> Iterator[Finding]:
    """Messages stored before the message that precedes them, counted."""
    if file.backwards:
        text = f"{file.backwards} messages have an earlier store time than the one before them"
        yield TIME_GOES_BACK.finding(file.path, text, found=file.backwards)
