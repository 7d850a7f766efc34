"""Types of option values: numbers, sizes, versions and settings."""

from __future__ import annotations

from typing import Any

import click

from kidx.errors import UsageError

_MOST = 2**63 - 1
_UNITS: dict[str, int] = {"": 1, "b": 1} | {
    letter + ending: 1024**power for power, letter in enumerate("kmgt", 1) for ending in ("", "b", "ib")
}


PATH = click.Path(readable=False)  # whether it can be read, kidx.evidence says


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
        text = str(value).lower()
        number = text.rstrip(" bikmgt")
        unit = text[len(number) :].lstrip()
        if not (number.isascii() and number.isdigit() and len(number) <= 19 and unit in _UNITS):
            self.fail(f"{str(value)!r} is not a number of bytes such as 8192, 64k, 16MiB or 2G", param, ctx)
        size = int(number) * _UNITS[unit]
        if not self.least <= size <= self.most:
            self.fail(f"{value} is not between {self.least} and {self.most} bytes", param, ctx)
        return size


class Rate(Bytes):
    """Bytes per second: 50MB/s, 200MiB."""

    name = "BYTES/S"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return super().convert(str(value).removesuffix("/s"), param, ctx)


class BrokerVersion(click.ParamType):  # type: ignore[type-arg]
    """A release of Kafka: 3.7 or 3.7.2, as a tuple of numbers."""

    name = "VERSION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        from kidx.formats.broker_versions import parse_version

        try:
            return parse_version(str(value))
        except UsageError as e:
            self.fail(str(e), param, ctx)


BROKER_VERSION = BrokerVersion()


class SparkSetting(click.ParamType):  # type: ignore[type-arg]
    """NAME=VALUE, a setting of Spark's, as a pair."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, equals, setting = str(value).partition("=")
        if not equals or not name.startswith("spark."):
            self.fail(f"{str(value)!r} is not a setting such as spark.executor.memory=2g", param, ctx)
        return name, setting
