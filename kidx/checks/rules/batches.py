"""What a batch says about itself: its CRC, its counts, its codec."""

from __future__ import annotations

from kidx.checks.rule import BATCH, FIELDS, check
from kidx.checks.subjects.logs import Batches, Bools
from kidx.checks.texts import FETCH_AGAIN
from kidx.findings import ERROR, Finding, Rule
from kidx.formats.compression import ZSTD

BATCH_CRC = Rule(
    code="KX301",
    name="batch-crc",
    severity=ERROR,
    title="A batch's bytes do not have its CRC",
    broker=(
        "No version checks a CRC when it serves a fetch: consumers get the batch and refuse it "
        "(CorruptRecordException) unless check.crcs is off. Followers check and stop fetching the partition. After an "
        "unclean stop recovery truncates the log at this batch if it lies past the recovery point, and this replica "
        "loses everything after it."
    ),
    story=(
        "At least one bit of the batch changed after the producer sent it: disk, memory, controller, or a file system "
        "that lost a page. Nothing in the batch can be trusted; the batches around it are not affected. Look at a "
        "replica: `kidx diff` shows whether it has the batch. Restoring this replica is done by deleting the "
        "partition's directory while the broker is stopped, so that it fetches the partition again; if it is the only "
        "good copy of what follows, save the file first."
    ),
    repair=FETCH_AGAIN,
)

BATCH_HEADER = Rule(
    code="KX307",
    name="batch-header",
    severity=ERROR,
    title="A batch's header contradicts itself",
    broker="Brokers trust the header: wrong counts make consumers fail or stop, an unknown codec cannot be inflated.",
    story=(
        "Number of records, last offset delta, base offset and codec must fit each other; a transactional batch has a "
        "producer, and a transaction marker is in a batch of its own. The CRC holds, so the batch was written like "
        "this, by a broken client through a broker that did not validate it, or by hand."
    ),
)


def crc_finding(batches: Batches, row: int) -> Finding:
    """The finding about one row."""
    found = f"{int(batches.column('crc')[row]):08x} in the header"
    return batches.finding(BATCH_CRC, row, "its bytes do not have the CRC that its header says", found=found)


@check(Batches, BATCH_CRC, finding=crc_finding, stage=FIELDS, distrust=BATCH)
def wrong_crc(batches: Batches) -> Bools | None:
    """Batches whose CRC does not hold, bool, shape (n,)."""
    return None if batches.all_good else ~batches.good


def header_finding(batches: Batches, row: int) -> Finding:
    """The finding about one row."""
    window = batches.window
    base, count, delta = (int(batches.column(n)[row]) for n in ("base_offset", "record_count", "last_offset_delta"))
    marks = (("transactional", window.transactional), ("control", window.control))
    words = " and ".join(word for word, bits in marks if bits[row])
    of = f", {words} of producer {batches.column('producer_id')[row]}" if words else ""
    return batches.finding(
        BATCH_HEADER,
        row,
        f"its header says base offset {base}, last offset delta {delta}, {count} records, codec {window.codec[row]}"
        f"{of}, which cannot be",
    )


@check(Batches, BATCH_HEADER, finding=header_finding, stage=FIELDS, distrust=BATCH)
def impossible_header(batches: Batches) -> Bools | None:
    """Batches with a sound CRC whose header contradicts itself, bool, shape (n,).

    More records than offsets, an undefined codec, a transaction without a producer, or a marker that is not alone in a
    producer's transaction. Source: DefaultRecordBatch, KIP-98.
    """
    window = batches.window
    if (
        batches.dense
        and batches.marked is None
        and batches.lowest("base_offset") >= 0
        and int(window.codec.max()) <= ZSTD
    ):
        return None
    span, count = batches.column("last_offset_delta") + 1, batches.column("record_count")
    new, producer = batches.column("magic") == 2, batches.column("producer_id")
    odd: Bools = (
        (batches.column("base_offset") < 0)
        | (span < 1)
        | (new & ((count < 0) | (count > span)))
        | (window.codec > ZSTD)
    )
    marker = window.control & (producer >= 0)
    odd |= (window.transactional & (producer < 0)) | (marker & (~window.transactional | (span > 1)))
    odd &= batches.good
    return odd if odd.any() else None
