"""What stands for typing makes the same classes, and nothing that starts fast imports typing."""

from __future__ import annotations

import pickle
import typing

import pytest

from kidx import light_typing


class Theirs(typing.NamedTuple):
    """A pair."""

    first: int
    second: str = "x"

    @property
    def both(self) -> str:
        return f"{self.first}{self.second}"

    @classmethod
    def of(cls, text: str) -> Theirs:
        return cls(int(text))


class Ours(light_typing.NamedTuple):
    """A pair."""

    first: int
    second: str = "x"

    @property
    def both(self) -> str:
        return f"{self.first}{self.second}"

    @classmethod
    def of(cls, text: str) -> Ours:
        return cls(int(text))


@pytest.mark.parametrize("kind", [Theirs, Ours])
def test_named_tuples_are_alike(kind: type[Ours]) -> None:
    one = kind.of("7")
    assert one == (7, "x") and one.both == "7x" and one._replace(second="y") == kind(7, "y")
    assert (kind._fields, kind._field_defaults, kind.__doc__) == (("first", "second"), {"second": "x"}, "A pair.")
    assert pickle.loads(pickle.dumps(one)) == one and type(pickle.loads(pickle.dumps(one))) is kind
    assert repr(one) == f"{kind.__name__}(first=7, second='x')"
    assert (kind.__module__, kind.__qualname__) == (__name__, kind.__name__) and issubclass(kind, tuple)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        kind()  # type: ignore[call-arg]


def test_names_for_annotations_exist() -> None:
    assert not light_typing.TYPE_CHECKING and light_typing.IO[str] and light_typing.ClassVar[int]
    assert light_typing.TypeVar("T", bound=int).__name__ == "T"
