"""Types of option values that are words of a list, which shell completion offers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from kidx.errors import meant

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class OneOf(click.ParamType):  # type: ignore[type-arg]
    """A word of a list. `known` returns the list; it is called only for a given word, because it imports much.

    Help shows `name` instead of the words.
    """

    def __init__(self, name: str, known: Callable[[], Iterable[str]]) -> None:
        self.name, self._known = name, known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word, known = str(value), list(self._known())
        if word not in known:
            near = meant(word, known)
            self.fail(
                f"{word!r} is not known{near}" if near else f"{word!r} is not one of {', '.join(known)}", param, ctx
            )
        return word

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self._known() if word.startswith(incomplete)]


class Rules(click.ParamType):  # type: ignore[type-arg]
    """Rules by code, name or prefix, separated by commas. Words are not checked here: the catalogue refuses them.

    Shell completion offers the rules of `systems`: kafka, rocketmq.
    """

    def __init__(self, name: str = "RULE,...", systems: tuple[str, ...] = ("kafka",)) -> None:
        self.name, self._systems = name, systems

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from kidx.checks.catalogue import RULES
        from kidx.rocketmq.catalogue import RULES as ROCKETMQ_RULES

        of_system = {"kafka": RULES, "rocketmq": ROCKETMQ_RULES}
        before, comma, begun = incomplete.rpartition(",")
        rules = [rule for system in self._systems for rule in of_system[system].values()]
        codes = [(r.code, r.name) for r in rules if r.code.startswith(begun.upper())]
        names = [(r.name, r.title) for r in rules if begun and r.name.startswith(begun.lower())]
        return [CompletionItem(f"{before}{comma}{word}", help=text) for word, text in (*codes, *names)]
