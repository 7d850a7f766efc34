"""CRCs of messages: that of the body, and that in the last property (5.2 on)."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.findings import ERROR, Finding, Rule
from kidx.formats.checksums import crc32
from kidx.rocketmq.messages import CRC_PROPERTY, CRC_PROPERTY_BYTES
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.rules.texts import LOG_STORY
from kidx.rocketmq.subjects.byte_rows import rows_at
from kidx.rocketmq.subjects.log_file import LogFile
from kidx.rocketmq.subjects.log_window import LogWindow

BODY_CRC = Rule(
    "KXR203",
    "body-crc",
    ERROR,
    "A message's body does not have its CRC",
    "Recovery stops here (checkCRCOnRecover, on by default). The client notices when it decodes the message.",
    LOG_STORY,
)
PROPERTY_CRC = Rule(
    "KXR204",
    "property-crc",
    ERROR,
    "A message does not have the CRC in its last property",
    "Checked in recovery only with forceVerifyPropCRC (5.2 on).",
    "With enabledAppendPropCRC the last 20 bytes are a property __CRC32# over all bytes before it: header, topic "
    "and properties too, which the body's CRC does not cover. " + LOG_STORY,
)

_NAME_START = int.from_bytes(CRC_PROPERTY[:8], "little")


@asked_of(LogFile)
def body_crc(file: LogFile) -> Iterator[Finding]:
    """Wrong bodies; that of the commit log's very last message is a torn write (KXR202)."""
    for wrong in file.wrong_bodies:
        if wrong.position != file.torn_at:
            sentence = f"the message at {file.base + wrong.position} says {wrong.stored}, its body gives {wrong.found}"
            span = wrong.position, wrong.position + wrong.size
            yield BODY_CRC.finding(file.path, sentence, span=span, expected=wrong.stored, found=wrong.found)


@asked_of(LogWindow)
def property_crc(window: LogWindow) -> Iterator[Finding]:
    """Messages that end in a CRC property with another CRC than their bytes have."""
    if not window.check_crcs or not len(window.start):
        return
    tail = window.start + window.size - CRC_PROPERTY_BYTES
    may = (rows_at(window.data, "<u8", tail) == _NAME_START) & (tail >= window.parts.properties)
    view = window.data.data
    for i in may.nonzero()[0].tolist():
        begin, at = int(window.start[i]), int(tail[i])
        text = bytes(view[at : at + CRC_PROPERTY_BYTES])
        if not text.startswith(CRC_PROPERTY):
            continue
        digits = text[len(CRC_PROPERTY) : -1]
        stored = int(digits[::-1]) if digits.isdigit() else -1
        found = crc32(view[begin:at]) & 0x7FFFFFFF
        if stored != found:
            sentence = f"the message at {int(window.at[i])} says {stored}, its bytes give {found}"
            yield PROPERTY_CRC.finding(window.path, sentence, span=window.span(i), expected=stored, found=found)
