"""The files that `kidx dump`'s arguments stand for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kidx.errors import CannotRead, UsageError
from kidx.evidence import STDIN_NAMES, list_directory
from kidx.logdir.names import parse_file_name


class Input(NamedTuple):
    """A file to be dumped: its path as given (joined with what lies below it) and its kind, "" where unknown."""

    path: str
    kind: str

    @property
    def is_stream(self) -> bool:
        """Whether it is standard input."""
        return self.path in STDIN_NAMES


def inputs_of(paths: Iterable[str], kind: str | None, known: Iterable[str]) -> Iterator[Input | CannotRead]:
    """Files as they are, and directories' files of `known` kinds by path; and what cannot be listed, or holds none.
    `kind` says what the named files are, and picks among those of directories. Raises UsageError.
    """
    wanted = {kind} if kind else set(known)
    for path in paths:
        if path in STDIN_NAMES:
            if kind is None:
                raise UsageError("standard input has no name that says what it is; add --kind")
            yield Input(path, kind)
        elif os.path.isdir(path):
            empty = True
            for below in _files_below(path):
                if isinstance(below, CannotRead):
                    yield below
                elif (name := parse_file_name(below)) is not None and name.kind in wanted:
                    yield Input(below, name.kind)
                else:
                    continue
                empty = False
            if empty:
                sought = " or ".join(sorted(wanted)) if len(wanted) < 4 else "file that kidx knows"
                yield CannotRead(f"{path}: nothing to read: no {sought} is in or below it")
        else:
            name = parse_file_name(path)
            yield Input(path, kind or (name.kind if name else ""))


def _files_below(directory: str) -> Iterator[str | CannotRead]:
    """Whatever is no directory, by path: opening a FIFO or a link to nowhere will say what it is."""
    try:
        entries = list_directory(directory)
    except CannotRead as e:
        yield e
        return
    for entry in entries:
        path = os.path.join(directory, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from _files_below(path)
        else:
            yield path
