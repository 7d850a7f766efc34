"""Every answer that the real stores 4.9.8 and 5.5.1 gave, given again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kidx.evidence import read_file
from kidx.rocketmq.batch_queues import BatchConsumeQueue
from kidx.rocketmq.broker_version import CLASSIC
from kidx.rocketmq.commit_log import walk
from kidx.rocketmq.ext_units import read_ext_unit
from kidx.rocketmq.formats import ext_offset, is_ext_address
from kidx.rocketmq.java import JavaThrows
from kidx.rocketmq.key_lookup import find_key
from kidx.rocketmq.messages import Message
from kidx.rocketmq.pull import pull
from kidx.rocketmq.store import DoesNotLoad, Store
from kidx.rocketmq.time_search import BatchSearch, Search
from tests.rocketmq.cases import CASES, is_five, lay_out, name_of, opened, rows

LOADING = [c for c in CASES if json.loads((c / "queues.json").read_text())["load"]]
REFUSED = [c for c in CASES if c not in LOADING]
FILE_QUEUES = [c for c in LOADING if c.name != "rocksdb"]


@pytest.mark.parametrize("case", LOADING, ids=name_of)
@pytest.mark.parametrize("configured", [True, False], ids=["config", "inferred"])
def test_ends_and_offsets(case: Path, configured: bool, tmp_path: Path) -> None:
    recorded = json.loads((case / "queues.json").read_text())
    store = opened(lay_out(case, tmp_path), configured=configured)
    assert store.five == is_five(case)
    assert (store.log.first_offset, store.end) == (recorded["minPhyOffset"], recorded["maxPhyOffset"])
    for known in recorded["queues"]:
        name = known["topic"], known["queue"]
        queue = store.replayed[name] if store.layout.rocksdb else store.queue(*name)
        assert queue is not None
        assert (queue.min_offset, queue.max_offset) == (known["minOffset"], known["maxOffset"]), name


@pytest.mark.parametrize("case", REFUSED, ids=name_of)
def test_refused_to_load(case: Path, tmp_path: Path) -> None:
    with pytest.raises(DoesNotLoad, match="does not load"):
        opened(lay_out(case, tmp_path)).check_loads()


@pytest.mark.parametrize("case", LOADING, ids=name_of)
def test_times(case: Path, tmp_path: Path) -> None:
    laid = lay_out(case, tmp_path)
    for table in sorted(case.glob("time_search*.tsv")):
        store = opened(laid, table.name.replace("time_search", "mtimes"))
        asked = _Asked(store)
        wrong = [
            (row, got)
            for row in rows(table)
            if (got := asked.time(row["topic"], int(row["queue"]), int(row["t"]), row["boundary"])) != row["answer"]
        ]
        assert not wrong, (table.name, len(wrong), wrong[:3])


class _Asked:
    """One store asked many times: searches are kept, as a running broker keeps its queues."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._searches: dict[tuple[str, int], Search | BatchSearch | None] = {}

    def time(self, topic: str, queue_id: int, time: int, boundary: str) -> str:
        """The answer, or ! and the Java exception's name."""
        name, store = (topic, queue_id), self._store
        if store.layout.rocksdb:
            queue = store.replayed.get(name)
            return str(queue.by_time(time, boundary.lower(), store.version.number) if queue else 0)
        if name not in self._searches:
            self._searches[name] = self._search(*name)
        search = self._searches[name]
        try:
            if search is None:
                return "0"
            if isinstance(search, Search) and store.version.algorithm == CLASSIC:
                return str(search.classic(time, clamp=store.five))
            return str(search.current(time, boundary.lower()))
        except JavaThrows as e:
            return "!" + e.name

    def _search(self, topic: str, queue_id: int) -> Search | BatchSearch | None:
        queue = self._store.queue(topic, queue_id)
        if queue is None:
            return None
        if isinstance(queue, BatchConsumeQueue):
            return BatchSearch(queue)
        return Search(queue, self._store.log, checks_end=self._store.version.checks_log_end)


@pytest.mark.parametrize("case", LOADING, ids=name_of)
def test_pulls(case: Path, tmp_path: Path) -> None:
    store = opened(lay_out(case, tmp_path))
    for row in rows(case / "pull.tsv"):
        asked = int(row["offset"]), int(row["maxMsgNums"]), int(row["memoryBytes"])
        try:
            got = pull(store, row["topic"], int(row["queue"]), *asked)
        except JavaThrows as e:
            assert row["status"] == "!" + e.name, row
            continue
        known = [
            got.status,
            got.next_offset,
            got.min_offset,
            got.max_offset,
            got.messages,
            got.bytes,
            got.suggest_slave,
        ]
        names = ("nextBeginOffset", "minOffset", "maxOffset", "messageCount", "bufferTotalSize")
        recorded = [row["status"], *(int(row[n]) for n in names), row["suggestPullingFromSlave"] == "true"]
        assert known == recorded, row


@pytest.mark.parametrize("case", LOADING, ids=name_of)
@pytest.mark.parametrize("configured", [True, False], ids=["config", "inferred"])
def test_keys(case: Path, configured: bool, tmp_path: Path) -> None:
    store = opened(lay_out(case, tmp_path), configured=configured)
    for row in rows(case / "key_lookup.tsv"):
        found = find_key(store, row["topic"], row["key"], int(row["max"]), int(row["begin"]), int(row["end"]))
        assert ",".join(map(str, found)) == row["phyOffsets"], row


@pytest.mark.parametrize("case", LOADING, ids=name_of)
def test_messages(case: Path, tmp_path: Path) -> None:
    store = opened(lay_out(case, tmp_path))
    recorded = [json.loads(line) for line in (case / "messages.jsonl").read_text(encoding="utf-8").splitlines()]
    assert store.end >= 0
    decoded = [found for found in _records(store) if found["phy"] < store.end]
    assert decoded == recorded


def _records(store: Store) -> Iterator[dict[str, object]]:
    for file in store.log.files:
        for position, found in walk(file):
            place: dict[str, object] = {"phy": file.base + position}
            if isinstance(found, Message):
                yield place | _message(found)
            elif hasattr(found, "reason"):
                break
            else:
                yield place | {"size": found.size, "magic": "cbd43194", "blank": True}


def _message(found: Message) -> dict[str, object]:
    return {
        "size": found.size,
        "magic": f"{found.magic:08x}",
        "topic": found.topic,
        "queueId": found.queue_id,
        "queueOffset": found.queue_offset,
        "commitLogOffset": found.physical_offset,
        "storeTimestamp": found.store_timestamp,
        "bornTimestamp": found.born_timestamp,
        "bornHost": found.born_host,
        "storeHost": found.store_host,
        "flag": found.flag,
        "sysFlag": found.sys_flag,
        "reconsumeTimes": found.reconsume_times,
        "preparedTransactionOffset": found.prepared_transaction_offset,
        "tags": found.properties.get("TAGS"),
        "keys": found.properties.get("KEYS"),
        "properties": found.properties,
        "bodyCRC": found.body_crc,
        "bodyLength": len(found.body),
        "bodySha256": hashlib.sha256(found.body).hexdigest(),
    }


@pytest.mark.parametrize("case", FILE_QUEUES, ids=name_of)
def test_units(case: Path, tmp_path: Path) -> None:
    store = opened(lay_out(case, tmp_path))
    recorded = [json.loads(line) for line in (case / "consumequeue.jsonl").read_text().splitlines()]
    for known in recorded:
        queue = store.queue(known["topic"], known["queue"])
        assert queue is not None
        if isinstance(queue, BatchConsumeQueue):
            place = queue.unit_for(known["offset"])
            assert place is not None
            unit = queue.unit(*place)
            assert [unit.commit_log_offset, unit.size, unit.tag_code] == [
                known["phy"],
                known["size"],
                known["tagsCode"],
            ]
            assert [unit.base_offset, unit.batch_size] == [known["offset"], known["batchNum"]]
            assert unit.compact_offset == known["compactedOffset"]
            continue
        file = queue.find(known["offset"] * 20)
        assert file is not None
        at, size, tag_code = queue.unit(file, known["offset"] * 20 - file.base)
        assert [at, size, tag_code] == [known["phy"], known["size"], known["tagsCode"]], known
        assert (known["offset"] < queue.min_offset) == known["belowMin"]
        if "ext" in known:
            assert is_ext_address(tag_code)
            assert _ext(store, known["topic"], known["queue"], tag_code) == known["ext"]


def _ext(store: Store, topic: str, queue_id: int, address: int) -> dict[str, object]:
    offset = ext_offset(address)
    file = next(f for f in store.layout.ext[topic, queue_id] if (f.base or 0) <= offset < (f.base or 0) + f.size)
    unit = read_ext_unit(read_file(file.path), offset - (file.base or 0))
    assert unit is not None
    return {
        "size": unit.size,
        "tagsCode": unit.tag_code,
        "msgStoreTime": unit.store_timestamp,
        "bitMap": unit.bitmap.hex(),
    }
