"""Types of option values: their names in help, what they accept, what shell completion offers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from kidx.errors import UsageError, meant
from kidx.formats.broker_versions import parse_version

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_MOST = 2**63 - 1
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Number(click.ParamType):  # type: ignore[type-arg]
    """A whole number from `least` to `most`. `name` is its name in help: OFFSET, N, MS."""

    def __init__(self, name: str = "N", least: int = 0, most: int = _MOST) -> None:
        self.name, self.least, self.most = name, least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        digits = text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 20
        if not (digits and self.least <= int(text) <= self.most):
            bounds = f"from {self.least} to {self.most}" if self.most < _MOST else f"of at least {self.least}"
            self.fail(f"{text!r} is not a whole number {bounds}", param, ctx)
        return int(text)


ANY_NUMBER = Number(least=-_MOST - 1)
ANY_MS = Number("MS", least=-_MOST - 1)
OFFSET = Number("OFFSET")
JOBS = Number("N", 1, 256)


class Bytes(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes: 8192, 64k, 16MiB, 2G."""

    name = "BYTES"

    def __init__(self, least: int = 0, most: int = _MOST) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d{1,19})\s*([kmgt]?)(?:i?b)?", str(value).lower(), re.ASCII)
        if not match:
            self.fail(f"{str(value)!r} is not a number of bytes such as 8192, 64k, 16MiB or 2G", param, ctx)
        size = int(match[1]) * _UNITS[match[2]]
        if not self.least <= size <= self.most:
            self.fail(f"{value} is not between {self.least} and {self.most} bytes", param, ctx)
        return size


class BrokerVersion(click.ParamType):  # type: ignore[type-arg]
    """A release of Kafka: 3.7 or 3.7.2, as a tuple of numbers."""

    name = "VERSION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return parse_version(str(value))
        except UsageError as e:
            self.fail(str(e), param, ctx)


BROKER_VERSION = BrokerVersion()


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


class SparkSetting(click.ParamType):  # type: ignore[type-arg]
    """NAME=VALUE, a setting of Spark's, as a pair."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, equals, setting = str(value).partition("=")
        if not equals or not name.startswith("spark."):
            self.fail(f"{str(value)!r} is not a setting such as spark.executor.memory=2g", param, ctx)
        return name, setting
