"""What a workload's look-ups cost when memory is short, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kidx.errors import UsageError
from kidx.formats.indexes import WARM_SECTION_BYTES
from kidx.lookup.search import STANDARD, WARM
from kidx.lookup.simulation import LookUps, simulate
from kidx.lookup.workload import Workload, parse_workload
from kidx.pages.cache import page_cache
from kidx.pages.geometry import PAGE_BYTES
from kidx.tables.table import INT, TEXT, TREE, Column, Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_COLUMNS = (
    Column("search", TEXT),
    Column("warm_bytes", INT, "bytes"),
    Column("policy", TEXT),
    Column("cache_bytes", INT, "bytes"),
    Column("reader", TEXT),
    Column("lag", INT, "entries"),
    Column("lookups"),
    Column("index_faults"),
    Column("log_faults"),
    Column("lookups_with_index_fault"),
    Column("p50"),
    Column("p99"),
    Column("p99_9"),
    Column("worst"),
    Column("bytes_read", INT, "bytes"),
    Column("faults_by_page_fill", TREE),
    Column("faults_by_index_page", TREE),
)
_FILL_PARTS = 8  # of the index's last page, by how full it is
_DEFAULT = """
partitions 8
start 6000
seconds 600
append 20
reader follower members 2 rate 20
reader consumer members 1 rate 10 lag 20
reader batch-job members 1 rate 5 lag 5000 read-pages 16
"""


def default_workload() -> Workload:
    """A follower, a consumer and a batch job that read eight partitions for ten minutes."""
    return parse_workload(_DEFAULT.splitlines(), "the default workload")


def simulation_table(
    workload: Workload,
    *,
    cache_bytes: int,
    policy: str = "lru",
    warm_bytes: Sequence[int] = (WARM_SECTION_BYTES,),
    away: Sequence[str] = (),
    page_bytes: int = PAGE_BYTES,
    searches: Sequence[str] = (STANDARD, WARM),
) -> Table:
    """kidx.simulation.v1: a row a search and reader; warm-section search for each length in `warm_bytes`.

    `policy` is that of the page cache, `lru` or `two-list`; readers named in `away` read elsewhere. Raises UsageError
    for a reader that the workload does not have.
    """
    names = [reader.name for reader in workload.readers]
    for name in away:
        if name not in names:
            raise UsageError(f"--away {name}: the workload has no such reader; it has {', '.join(names)}")
    gone = frozenset(i for i, name in enumerate(names) if name in away)
    lengths: list[int | None] = [None] if STANDARD in searches else []
    lengths += warm_bytes if WARM in searches else []
    rows = _rows(workload, lengths, policy, cache_bytes, page_bytes, gone)
    return Table("kidx.simulation.v1", _COLUMNS, rows)


def _rows(
    workload: Workload,
    lengths: Sequence[int | None],
    policy: str,
    cache_bytes: int,
    page_bytes: int,
    away: frozenset[int],
) -> Iterator[Sequence[Any]]:
    for length in lengths:
        cache = page_cache(policy, cache_bytes // page_bytes)
        lookups = simulate(workload, cache, length, page_bytes=page_bytes, away=away)
        shape = ("standard" if length is None else "warm", length, policy, cache_bytes)
        for number, reader in enumerate(workload.readers):
            if number not in away:
                yield (
                    *shape,
                    reader.name,
                    reader.lag,
                    *_measures(lookups, lookups.reader == number, workload, page_bytes),
                )


def _measures(lookups: LookUps, chosen: npt.NDArray[np.bool_], workload: Workload, page_bytes: int) -> Sequence[Any]:
    import numpy as np

    index_faults, log_faults = lookups.index_faults[chosen], lookups.log_faults[chosen]
    if not len(index_faults):
        return (0, 0, 0, 0, None, None, None, None, 0, [], [])
    total = int(index_faults.sum())
    percentiles = np.percentile(index_faults, [50, 99, 99.9], method="higher").tolist()
    last_byte = lookups.entries[chosen] * workload.entry_bytes
    fill = np.bincount((last_byte - 1) % page_bytes * _FILL_PARTS // page_bytes, index_faults, _FILL_PARTS)
    page = (last_byte - 1) // page_bytes
    by_page = np.bincount(page, index_faults)
    return (
        len(index_faults),
        total,
        int(log_faults.sum()),
        int((index_faults > 0).sum()),
        *percentiles,
        int(index_faults.max()),
        (total + int(log_faults.sum())) * page_bytes,
        fill.astype(int).tolist(),
        [[int(p), int(by_page[p])] for p in np.flatnonzero(by_page)],
    )
