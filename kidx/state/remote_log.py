"""The state of __remote_log_metadata: the segments that tiered storage has, each with its last state.

Sources: RemoteLogMetadataCache (a segment whose deletion is finished is forgotten; an update of an unknown segment, or
to a state that cannot follow, is ignored), RemoteLogSegmentState.isValidTransition, RemoteLogSegmentMetadataUpdate.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kidx.formats.records import Record
from kidx.state.facts import Facts

SEGMENT_KIND, PARTITION_KIND = "remote_segment", "remote_partition"
KINDS = (PARTITION_KIND, SEGMENT_KIND)
STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
COPY_STARTED, COPY_FINISHED, DELETE_STARTED, DELETE_FINISHED = STATES
_MAY_FOLLOW = {
    COPY_STARTED: (COPY_FINISHED, DELETE_STARTED),
    COPY_FINISHED: (COPY_FINISHED, DELETE_STARTED),
    DELETE_STARTED: (DELETE_STARTED, DELETE_FINISHED),
}


class EpochIndex:
    """Where the offsets of one leader epoch are: start offsets and ids of the segments that hold them.

    `highest` is the last offset that was ever copied. Source: RemoteLogLeaderEpochState.
    """

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ids: list[str] = []
        self.highest: int | None = None

    def add(self, start: int, segment: str, end: int) -> None:
        """A copy of the offsets `start` to `end` is finished: it takes the place of those that it covers."""
        while self.starts and self.starts[-1] >= start and (self.highest or 0) <= end:
            self.starts.pop()
            self.ids.pop()
        at = bisect_left(self.starts, start)
        if at < len(self.starts) and self.starts[at] == start:
            self.ids[at] = segment
        else:
            self.starts.insert(at, start)
            self.ids.insert(at, segment)
        self.highest = end if self.highest is None else max(self.highest, end)

    def remove(self, start: int, segment: str) -> None:
        """A segment's deletion has begun: it is no longer read."""
        at = bisect_left(self.starts, start)
        if at < len(self.starts) and (self.starts[at], self.ids[at]) == (start, segment):
            del self.starts[at], self.ids[at]

    def floor(self, offset: int) -> str | None:
        """The segment with the largest start offset up to this one."""
        at = bisect_right(self.starts, offset)
        return self.ids[at - 1] if at else None

    def next_start(self, offset: int) -> int | None:
        """The smallest start offset after this one."""
        at = bisect_right(self.starts, offset)
        return self.starts[at] if at < len(self.starts) else None


class EpochIndexes:
    """The EpochIndex of each leader epoch of a partition. Source: RemoteLogMetadataCache."""

    def __init__(self) -> None:
        self.by_epoch: dict[int, EpochIndex] = {}

    def add(self, segment: str, epochs: Mapping[int, int], end: int) -> None:
        """A copy is finished. `epochs` are the leader epochs of its records and their first offsets in it."""
        for epoch, start, last in _ranges(epochs, end):
            self.by_epoch.setdefault(epoch, EpochIndex()).add(start, segment, last)

    def remove(self, segment: str, epochs: Mapping[int, int]) -> None:
        """A segment's deletion has begun."""
        for epoch, start in epochs.items():
            if epoch in self.by_epoch:
                self.by_epoch[epoch].remove(start, segment)


def _ranges(epochs: Mapping[int, int], end: int) -> Iterator[tuple[int, int, int]]:
    """Epoch, first and last offset of each leader epoch of a segment that ends with offset `end`."""
    ordered = sorted(epochs.items())
    for at, (epoch, start) in enumerate(ordered):
        yield epoch, start, ordered[at + 1][1] - 1 if at + 1 < len(ordered) else end


class RemoteLogState:
    """Replays remote log metadata. `undecoded` counts the records that could not be understood.

    `deleted` are the ids of segments whose deletion was finished: Kafka forgets them. `indexes` are by topic id and
    partition.
    """

    def __init__(self) -> None:
        self.facts, self.undecoded = Facts(), 0
        self.deleted: set[str] = set()
        self.indexes: dict[tuple[str, int], EpochIndexes] = {}
        from kidx.formats.schemas.topics import REMOTE, decoder_of

        self._decode = decoder_of(REMOTE)

    def replay(self, record: Record) -> None:
        """Apply a record."""
        decoded = self._decode(record.key, record.value)
        value = decoded.value
        if decoded.problem or value is None or value.data is None:
            self.undecoded += 1
        elif value.name == "RemoteLogSegmentMetadataRecord":
            self._segment(value.data, record)
        elif value.name == "RemoteLogSegmentMetadataUpdateRecord":
            self._update(value.data, record)

    def _segment(self, data: dict[str, Any], record: Record) -> None:
        value = {
            "state": _state(data),
            "startOffset": data["startOffset"],
            "endOffset": data["endOffset"],
            "segmentSizeInBytes": data["segmentSizeInBytes"],
            "maxTimestampMs": data["maxTimestampMs"],
            "segmentLeaderEpochs": {str(e["leaderEpoch"]): e["offset"] for e in data["segmentLeaderEpochs"]},
            "brokerId": data["brokerId"],
            "eventTimestampMs": data["eventTimestampMs"],
            "startedTimestampMs": data["eventTimestampMs"],
            "txnIndexEmpty": bool(data.get("txnIndexEmpty")),
            "customMetadata": data["customMetadata"],
        }
        self.facts.set(SEGMENT_KIND, _key(data), value, record.offset, record.timestamp)

    def _update(self, data: dict[str, Any], record: Record) -> None:
        key, state = _key(data), _state(data)
        there = self.facts.get(SEGMENT_KIND, key)
        if there is None or state not in _MAY_FOLLOW.get(there.value["state"], ()):
            return
        epochs = {int(epoch): offset for epoch, offset in there.value["segmentLeaderEpochs"].items()}
        index = self.indexes.setdefault((key["topicId"], key["partition"]), EpochIndexes())
        if state == COPY_FINISHED:
            index.add(key["segment"], epochs, there.value["endOffset"])
        else:
            index.remove(key["segment"], epochs)
        if state == DELETE_FINISHED:
            self.deleted.add(key["segment"])
            self.facts.drop(SEGMENT_KIND, key, record.offset, record.timestamp)
            return
        custom = data["customMetadata"] if data["customMetadata"] is not None else there.value["customMetadata"]
        changed = {"brokerId": data["brokerId"], "eventTimestampMs": data["eventTimestampMs"], "customMetadata": custom}
        self.facts.set(SEGMENT_KIND, key, {**there.value, "state": state, **changed}, record.offset, record.timestamp)

    def finish(self) -> None:
        """Add a fact for each partition: the bounds of what can be read of it, its segments by state, their bytes."""
        partitions: dict[tuple[Any, ...], list[Any]] = {}
        for fact in self.facts.of_kind(SEGMENT_KIND):
            partitions.setdefault(tuple(fact.key[name] for name in ("topic", "topicId", "partition")), []).append(fact)
        for (topic, topic_id, partition), facts in partitions.items():
            readable = [fact.value for fact in facts if fact.value["state"] == COPY_FINISHED]
            newest = max(facts, key=lambda fact: fact.offset or 0)
            value = {
                "startOffset": min((v["startOffset"] for v in readable), default=None),
                "endOffset": max((v["endOffset"] for v in readable), default=None),
                "segments": dict(sorted(Counter(fact.value["state"] for fact in facts).items())),
                "bytes": sum(v["segmentSizeInBytes"] for v in readable),
            }
            key = {"topic": topic, "topicId": topic_id, "partition": partition}
            self.facts.set(PARTITION_KIND, key, value, newest.offset, newest.timestamp)


def _key(data: dict[str, Any]) -> dict[str, Any]:
    segment = data["remoteLogSegmentId"]
    partition = segment["topicIdPartition"]
    return {
        "topic": partition["name"],
        "topicId": partition["id"],
        "partition": partition["partition"],
        "segment": segment["id"],
    }


def _state(data: dict[str, Any]) -> str:
    number = data["remoteLogSegmentState"]
    return STATES[number] if 0 <= number < len(STATES) else f"unknown-{number}"
