"""One-clause changes to Python source: comparisons, operators, clauses, constants, conditions and statements.

Every change replaces one piece of the text, so that a mutant's diff is one line of the code as it was written.
Annotations, texts (a rule's among them), the arguments of `raise`, and constants that decide how much is taken at once
(TUNING: speed, not answers) are left alone: no test should hold them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "//"), ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "//"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
}  # fmt: skip
OPPOSITES = {"min": "max", "any": "all", "minimum": "maximum"}
OPPOSITES |= {value: key for key, value in OPPOSITES.items()}
SIDES = {"left": "right", "right": "left"}
TEXTS = (ast.JoinedStr, ast.Assert)
TEXTS_OF = {"Rule"}
TUNING = {"_CHUNK_BYTES", "_CHUNK_ENTRIES", "_EVENTS_AT_ONCE", "_LARGEST_HINT_BYTES", "MANY", "WORTH_FORKING_BYTES"}
TYPES = {"bool", "bytes", "float", "int", "str"}
UNREAD_FIELDS = {"annotation", "returns", "exc", "cause", "msg"}
UNREAD_KEYWORDS = {"strict"}


class Mutant(NamedTuple):
    """One change. `start` and `end` are byte offsets in the source; `before` and `after` are the lines it touches."""

    path: str
    line: int
    function: str
    start: int
    end: int
    text: str
    before: str
    after: str

    def apply(self, source: bytes) -> bytes:
        """The source with this change made."""
        return source[: self.start] + self.text.encode() + source[self.end :]


class _Source:
    """A file's bytes with the byte range of every node."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path, self.data = path, data
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        line, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        columns = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return self._starts[line - 1] + columns[0], self._starts[last - 1] + columns[1]

    def text(self, start: int, end: int) -> str:
        return self.data[start:end].decode()

    def mutant(self, function: str, start: int, end: int, text: str) -> Mutant:
        line = self.data.count(b"\n", 0, start) + 1
        head = self.text(self._starts[line - 1], start)
        stop = self.data.find(b"\n", end)
        tail = self.text(end, stop if stop >= 0 else len(self.data))
        before, after = (" ".join(f"{head}{t}{tail}".split()) for t in (self.text(start, end), text))
        return Mutant(self.path, line, function, start, end, text, before, after)


def mutants_of(path: str, data: bytes) -> list[Mutant]:
    """Every change to a file that still compiles, in the order of the text."""
    source = _Source(path, data)
    made = (source.mutant(where, *change) for where, change in _walk(source, ast.parse(data), ""))
    return sorted({m for m in made if _compiles(m.apply(data))}, key=lambda m: (m.start, m.end, m.text))


def _compiles(data: bytes) -> bool:
    try:
        compile(data, "<mutant>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def _walk(source: _Source, node: ast.AST, where: str) -> Iterator[tuple[str, tuple[int, int, str]]]:
    if isinstance(node, TEXTS) or (isinstance(node, ast.keyword) and node.arg in UNREAD_KEYWORDS):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TEXTS_OF:
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in TUNING:
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        where = f"{where}.{node.name}".lstrip(".")
    for change in _changes(source, node):
        yield where, change
    for field, value in ast.iter_fields(node):
        if field not in UNREAD_FIELDS:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _walk(source, child, where)


def _changes(source: _Source, node: ast.AST) -> Iterator[tuple[int, int, str]]:
    """The changes to one node: first byte, byte after the last, text instead."""
    match node:
        case ast.Compare():
            for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield _between(source, left, right, *COMPARISONS[type(operator)])
        case ast.BoolOp():
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            start, end = source.span(node)
            gap = _between(source, node.values[0], node.values[1], old, new)
            yield start, end, f"({source.text(start, gap[0])}{gap[2]}{source.text(gap[1], end)})"
            for value in node.values:
                if not isinstance(value, ast.Constant):  # `or 0`, `or None`: a default
                    yield *source.span(value), str(old == "and")
        case ast.BinOp() if type(node.op) in ARITHMETIC and not _is_text(node) and not _is_type(node):
            start, end = source.span(node)
            gap = _between(source, node.left, node.right, *ARITHMETIC[type(node.op)])
            yield start, end, f"({source.text(start, gap[0])}{gap[2]}{source.text(gap[1], end)})"
            if isinstance(node.op, ast.BitAnd | ast.BitOr):
                for value in (node.left, node.right):
                    yield start, end, f"({source.text(*source.span(value))})"
        case ast.UnaryOp(op=ast.Not()) | ast.UnaryOp(op=ast.Invert()):
            yield *source.span(node), f"({source.text(*source.span(node.operand))})"
        case ast.Constant(value=bool()):
            yield *source.span(node), str(not node.value)
        case ast.Constant(value=int()):
            yield *source.span(node), str(node.value + 1)
        case ast.Constant(value=str()) if node.value in SIDES:
            yield *source.span(node), f'"{SIDES[node.value]}"'
        case ast.If() | ast.IfExp():
            yield *source.span(node.test), "True"
            yield *source.span(node.test), "False"
        case ast.While():
            yield *source.span(node.test), "False"
        case ast.comprehension():
            for test in node.ifs:
                yield *source.span(test), "True"
        case ast.Name(id=name, ctx=ast.Load()) if name in OPPOSITES:
            yield *source.span(node), OPPOSITES[name]
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in OPPOSITES:
            end = source.span(node)[1]
            yield end - len(name), end, OPPOSITES[name]
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield *source.span(value), "None"
        case ast.AugAssign(value=value) if _is_text(value):
            pass
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()) | ast.AugAssign() | ast.Raise():
            yield *source.span(node), "pass"
        case ast.Continue():
            yield *source.span(node), "break"


def _between(source: _Source, left: ast.AST, right: ast.AST, old: str, new: str) -> tuple[int, int, str]:
    start, end = source.span(left)[1], source.span(right)[0]
    return start, end, source.text(start, end).replace(old, new, 1)


def _is_text(node: ast.expr) -> bool:
    """A string, or one put together: its words are no rule."""
    return any(
        isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str | bytes))
        for n in ast.walk(node)
    )


def _is_type(node: ast.BinOp) -> bool:
    """A union of types (`int | None`) outside an annotation."""
    return any(
        (isinstance(n, ast.Constant) and n.value is None)
        or (isinstance(n, ast.Name) and (n.id[:1].isupper() or n.id in TYPES))
        for n in (node.left, node.right)
    ) and isinstance(node.op, ast.BitOr)
