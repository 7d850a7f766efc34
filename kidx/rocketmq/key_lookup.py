"""Messages by key through the index files, as IndexService.queryOffset finds them."""

from __future__ import annotations

from kidx.rocketmq.store import Store

MOST_ANSWERS = 64  # maxMsgsNumBatch
FOREVER = 2**63 - 1


def find_key(
    store: Store, topic: str, key: str, most: int = MOST_ANSWERS, begin: int = 0, end: int = FOREVER
) -> list[int]:
    """Commit-log offsets of messages of a topic with that key, newest first, in [begin, end] (epoch ms).

    Only hashes are compared, as in the broker: another key of the same hash is among them. At most 64.
    """
    most, found = min(most, MOST_ANSWERS), list[int]()
    for file in reversed(store.index_files):
        if file.matches_time(begin, end):
            for offset in file.select(f"{topic}#{key}", begin, end):
                if len(found) >= most:
                    break
                found.append(offset)
        if file.begin_timestamp < begin or len(found) >= most:
            break
    return found
