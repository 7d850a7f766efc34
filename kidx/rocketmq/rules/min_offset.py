"""The min offset that a broker computes when it loads a queue."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.findings import NOTE, Finding, Rule
from kidx.rocketmq.formats import PRE_BLANK_SIZE, UNIT
from kidx.rocketmq.queues import ConsumeQueue
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.subjects.queue import Queue
from kidx.rocketmq.used_units import used_units

MIN_OFFSET_QUIRK = Rule(
    "KXR127",
    "min-offset-quirk",
    NOTE,
    "The broker's min offset is not the first message it can serve",
    "A consumer that starts at the min offset meets units that lead nowhere before the first message.",
    "How a broker finds a queue's min offset when it loads has known blind spots: pre-blank units when the commit "
    "log starts at 0, and a first queue file that is expired as a whole while later ones are not.",
)

_CHUNK_BYTES = UNIT.size << 10  # the first units are mostly enough


@asked_of(Queue)
def min_offset_quirk(queue: Queue) -> Iterator[Finding]:
    """The min offsets that 4.x and 5.x compute on load, compared with the first unit that leads to a message."""
    size = queue.file_bytes
    if not queue.files or not size or any(file.size != size for file in queue.files):
        return
    first = _first_served(queue)
    computed = {}
    for line, five in (("4.x", False), ("5.x", True)):
        loaded = ConsumeQueue(queue.opened, queue.topic, queue.queue_id, queue.files, size, five)
        last = queue.files[-1]
        loaded.files[-1].wrote = used_units(UNIT.size, queue.opened.get(last.path)).units * UNIT.size
        loaded.correct_min_offset(queue.log_start)
        computed[line] = loaded.min_offset
    wrong = {line: offset for line, offset in computed.items() if first is not None and offset != first}
    if wrong:
        text = ", ".join(f"{line} computes {offset}" for line, offset in wrong.items())
        message = f"the first message it can serve is {first}; when it loads, {text}"
        yield MIN_OFFSET_QUIRK.finding(queue.files[0].path, message, expected=first, found=computed)


def _first_served(queue: Queue) -> int | None:
    for file in queue.files:
        evidence = queue.opened.get(file.path)
        used = used_units(UNIT.size, evidence).units * UNIT.size
        for start in range(0, used, _CHUNK_BYTES):
            chunk = evidence.read(start, min(_CHUNK_BYTES, used - start))
            for slot, (at, size, tag) in enumerate(UNIT.struct.iter_unpack(chunk), start // UNIT.size):
                if at >= queue.log_start and size > 0 and (at, size, tag) != (0, PRE_BLANK_SIZE, 0):
                    return (file.base or 0) // UNIT.size + slot
    return None
