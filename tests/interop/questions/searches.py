"""Look-ups in offset and time indexes, and every probe on the way."""

from __future__ import annotations

from tests.interop.questions import Case, rows

_KEYS = {".index": ("offset", "position"), ".timeindex": ("timestamp", "offset")}
_MOST = 24


def searches(case: Case) -> None:
    """Around every kind of entry, before the first, past the last; by key and by value, both bounds."""
    for suffix, (key, value) in _KEYS.items():
        for path, theirs, base in case.files(suffix):
            entries = rows("dump", path)
            if not entries:
                continue
            targets = {"key": _around(case, entries, key, base), "value": _around(case, entries, value, base)}
            _lookups(case, suffix, path, theirs, base, targets["key"])
            _standard(case, suffix, path, theirs, base, targets["key"])
            for by, bound in (("key", "lower"), ("key", "upper"), ("value", "lower"), ("value", "upper")):
                _probes(case, path, theirs, base, by, bound, targets[by])
            if suffix == ".index":
                _upper_bounds(case, path, theirs, base, entries)


def _around(case: Case, entries: list[dict], name: str, base: int) -> list[int]:
    values = [row[name] for row in entries]
    near = [value + d for value in values for d in (-1, 0, 1)]
    ends = [values[0], values[-1], values[-1] + 1, base, base + 2**31, 2**62]
    return case.some([n for n in case.some(near, _MOST) + ends if n >= 0], 99)


def _lookups(case: Case, suffix: str, path: object, theirs: object, base: int, targets: list[int]) -> None:
    key, value = _KEYS[suffix]
    said = case.kafka.ask("offset" if suffix == ".index" else "time", theirs, base, *targets)[0].split(" ")
    found = rows("lookup", path, *targets)
    ours = [f"{row['answer'][key]}:{row['answer'][value]}" for row in found]
    case.ledger.compare_each("lookup", [("lookup", path, t) for t in targets], ours, said)


def _standard(case: Case, suffix: str, path: object, theirs: object, base: int, targets: list[int]) -> None:
    """The search as it was up to 2.1: what it finds, and its probes."""
    key, value = _KEYS[suffix]
    said = case.old.ask("offset" if suffix == ".index" else "time", theirs, base, *targets)[0].split(" ")
    found = rows("lookup", path, *targets, "--search", "standard", "--trace-pages")
    ours = [
        f"{row['answer'][key]}:{row['answer'][value]}:{','.join(str(p['slot']) for p in row['probes'])}"
        for row in found
    ]
    asked = [("lookup", path, t, "--search standard --trace-pages") for t in targets]
    case.ledger.compare_each("standard search", asked, ours, said)


def _probes(case: Case, path: object, theirs: object, base: int, by: str, bound: str, targets: list[int]) -> None:
    said = case.kafka.ask("probe", theirs, base, by, bound, *targets)[0].split(" ")
    found = rows("lookup", path, *targets, "--by", by, "--bound", bound, "--trace-pages")
    ours = [f"{row['slot']}:{','.join(str(p['slot']) for p in row['probes'])}" for row in found]
    asked = [("lookup", path, t, "--by", by, "--bound", bound, "--trace-pages") for t in targets]
    case.ledger.compare_each("probe", asked, ours, said)


def _upper_bounds(case: Case, path: object, theirs: object, base: int, entries: list[dict]) -> None:
    """OffsetIndex.fetchUpperBoundOffset: the end of a fetch of so many bytes."""
    fetches = []
    for _ in range(8):
        entry = case.chance.choice(entries)
        fetches.append((entry["offset"], entry["position"], case.chance.randrange(20000)))
    said = case.kafka.ask("upper", theirs, base, *(":".join(map(str, fetch)) for fetch in fetches))[0].split(" ")
    ends = [position + size for _, position, size in fetches]
    found = {row["target"]: row["answer"] for row in rows("lookup", path, *ends, "--by", "value", "--bound", "upper")}
    ours = [f"{found[end]['offset']}:{found[end]['position']}" if found[end] else "-" for end in ends]
    case.ledger.compare_each("upper bound", [("lookup", path, end, "--bound upper") for end in ends], ours, said)
