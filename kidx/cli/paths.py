"""Paths from the command line and from files of paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from kidx.cli.values import PATH
from kidx.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
_LIST_BYTES = 16 << 20


def from_file_option(f: F) -> F:
    """--from-file: more paths, one on each line."""
    return click.option(
        "--from-file",
        type=PATH,
        help="Read more paths from this file, one on each line (`-`: standard input).",
    )(f)


def paths_from(paths: tuple[str, ...], from_file: str | None) -> list[str]:
    """Path arguments and those of --from-file, with patterns expanded. Raises UsageError where there are none."""
    from kidx.logdir.tree import expand

    return list(expand(given_paths(paths, from_file)))


def given_paths(paths: tuple[str, ...], from_file: str | None) -> list[str]:
    """Path arguments and those of --from-file. Raises UsageError where there are none."""
    given = list(paths)
    if from_file is not None:
        given += [line for line in lines_of(from_file) if line]
    if not given:
        raise UsageError("no path given; name a file, a directory or a tree (or `-`)")
    return given


def lines_of(path: str) -> Iterator[str]:
    """The lines of a file of arguments (`-`: standard input), without line ends. File names may hold any bytes."""
    from kidx.evidence import read_file

    for line in read_file(path, _LIST_BYTES).split(b"\n"):
        yield line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
