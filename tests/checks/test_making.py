"""How many findings of a rule are reported, however they are made."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kidx import findings
from kidx.checks.catalogue import RULES
from kidx.checks.subjects.indexes import IndexFacts
from kidx.evidence import from_bytes
from kidx.findings import MAX_FINDINGS_OF_A_RULE, Finding, FindingLimiter, limited
from kidx.formats.indexes import OFFSET_INDEX
from tests.checks.conftest import index_findings


@given(st.lists(st.tuples(st.sampled_from(["KX105", "KX106"]), st.integers(0, 5)), max_size=8))
def test_findings_that_are_only_counted_are_told_as_if_they_had_been_made(parts: list[tuple[str, int]]) -> None:
    most = findings.MAX_FINDINGS_OF_A_RULE
    findings.MAX_FINDINGS_OF_A_RULE = 4
    try:
        limiter, made = FindingLimiter(), []

        def make(slot: int) -> Finding:
            made.append(slot)
            return RULES[code].finding("x", f"{code} {slot}", slot=slot)

        counted, plain, slot = [], [], 0
        for code, count in parts:
            slots = range(slot, slot + count)
            slot += count
            counted += limiter.of(code, slots, make)
            plain += [RULES[code].finding("x", f"{code} {one}", slot=one) for one in slots]
        assert list(limited(counted)) == list(limited(plain))
        assert len(made) <= 2 * 4 + len(parts)
    finally:
        findings.MAX_FINDINGS_OF_A_RULE = most


def test_an_index_of_nothing_but_damage_makes_few_findings() -> None:
    data = b"\xff\xff\xff\xff\0\0\0\1" * 50_000
    evidence = from_bytes(data)
    check = index_findings(evidence, OFFSET_INDEX, IndexFacts(0))
    *told, rest = limited(check)
    assert [f.slot for f in told] == list(range(MAX_FINDINGS_OF_A_RULE))
    assert (rest.rule, rest.found, rest.slot) == ("KX103", 50_000 - MAX_FINDINGS_OF_A_RULE, 49_999)


def test_the_first_entry_is_held_against_the_one_after_it() -> None:
    evidence = from_bytes(b"".join(OFFSET_INDEX.struct.pack(*entry) for entry in ((900, 5), (2, 10), (3, 15))))
    (found,) = index_findings(evidence, OFFSET_INDEX, IndexFacts(0))
    assert isinstance(found, Finding)
    assert (found.rule, found.slot, found.expected) == ("KX105", 0, "< 2")
    assert found.message.endswith("its offset 900 breaks the order; before the entry after it, it has to be < 2")
