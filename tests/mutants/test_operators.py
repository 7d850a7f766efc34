"""The changes that the mutation run makes to a piece of code."""

from __future__ import annotations

import pytest

from tests.mutants.operators import mutants_of

CASES = {
    "if a < b: f()": ["if a <= b: f()", "if True: f()", "if False: f()", "if a < b: pass"],
    "x = a and not b": ["x = (a or not b)", "x = True and not b", "x = a and True", "x = a and (b)"],
    "x = p[1:] & q": ["x = p[2:] & q", "x = (p[1:] | q)", "x = (p[1:])", "x = (q)"],
    "x = a.searchsorted(b, side='left')": ['x = a.searchsorted(b, side="right")'],
    "x: int | None = min(a, -1)": ["x: int | None = max(a, -1)", "x: int | None = min(a, -2)"],
    "raise E(f'{a + 1}')": ["pass"],
    "s = 'a' + b": [],
    "x = f() or None": ["x = (f() and None)", "x = False or None"],
    "_CHUNK_BYTES = 1 << 20": [],
    "Piece = list[int] | bytes | int": [],
    "s += f'{a + 1}'": [],
    "n += a": ["pass"],
    "R = Rule(code='A', story=B + C, severity=max(1, 2))": [],
}


@pytest.mark.parametrize("code", CASES)
def test_one_clause_at_a_time(code: str) -> None:
    mutants = mutants_of("x.py", code.encode())
    assert {m.apply(code.encode()).decode() for m in mutants} == set(CASES[code])
    assert all((m.before, m.line) == (code, 1) for m in mutants)
    assert sorted(m.after for m in mutants) == sorted(CASES[code])


def test_a_change_is_named_by_its_function_and_lines() -> None:
    code = b"class A:\n    def f(self):\n        return (self.a +\n            self.b)\n"
    added = next(m for m in mutants_of("x.py", code) if "-" in m.text)
    assert (added.line, added.function) == (3, "A.f")
    assert (added.before, added.after) == ("return (self.a + self.b)", "return ((self.a - self.b))")
