"""Records by arrays, in order, beside the plain decoder's: codecs mixed, control batches, old messages, damage."""

from __future__ import annotations

import random
from pathlib import Path

from kidx.evidence import open_evidence
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.records import read_records
from kidx.segments.scan import scan
from kidx.segments.walk import walk
from kidx.segments.window_records import batches_in_order, records_in_order
from tests.building import batch, message, record, wrapper


def test_as_the_plain_decoder(tmp_path: Path) -> None:
    chance = random.Random(1)
    data = b""
    for i in range(400):
        records = [
            record(j, j, chance.choice((None, b"k%d" % i)), chance.choice((None, b"", b"v%d" % j))) for j in range(3)
        ]
        kind = i % 9
        if i % 50 == 49:
            data += batch(base_offset=i * 3, last_offset_delta=2)
        if kind == 7:
            data += wrapper([message(b"a", offset=i * 3), message(b"b", offset=i * 3 + 1)], codec=1, offset=i * 3 + 1)
        elif kind == 8:
            data += batch(records, base_offset=i * 3, payload=b"".join(records)[:-4], max_timestamp=1_700_000_000_002)
        else:
            time = 1_700_000_000_002
            data += batch(
                records, base_offset=i * 3, codec=kind % 5, attributes=0x20 if i % 11 == 0 else 0, max_timestamp=time
            )
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(data)
    with open_evidence(str(log)) as evidence:
        wanted, broken, batches = [], [], []
        for entry in walk(evidence):
            decoded = read_records(evidence, entry)
            batches.append((entry, [(r.offset, r.timestamp, r.key, r.value, r.size) for r in decoded.records]))
            wanted += [(entry.control, r.offset, r.timestamp, r.key, r.value) for r in decoded.records]
            broken += [(entry.position, decoded.damage.why)] if decoded.damage else []
        found, damaged, in_order = [], [], []
        decoder = RecordDecoder(evidence, partly=True)
        for window in scan(evidence, hold=True):
            found += records_in_order(decoder, window, damaged)
            in_order += batches_in_order(decoder, window)
    assert [tuple(content) for content in found] == wanted
    assert sorted((b.position, damage.why) for b, damage in damaged) == broken
    assert len(broken) == 44
    rows = [(b, [(r.offset, r.timestamp, r.key, r.value, r.size) for r in records]) for b, records, _ in in_order]
    assert rows == batches
    assert [(b.position, damage.why) for b, _, damage in in_order if damage] == broken
