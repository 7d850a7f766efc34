"""The files that a command's path arguments name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kidx.errors import CannotRead, UsageError
from kidx.evidence import STDIN_NAMES, is_directory, list_directory
from kidx.logdir.names import REMOTE_INDEXES, REMOTE_MANIFEST, FileName, parse_file_name, parts_of_segment


class InputFile(NamedTuple):
    """A file to read: its path as given, or below a directory as given, and its kind, "" where unknown."""

    path: str
    kind: str

    @property
    def is_stream(self) -> bool:
        """Whether it is standard input."""
        return self.path in STDIN_NAMES


def input_files(paths: Iterable[str], kind: str | None, known: Iterable[str]) -> Iterator[InputFile | CannotRead]:
    """Named files as they are; of directories every file below of a `known` kind, in order of paths.

    A directory that cannot be listed, or that holds no such file, becomes a CannotRead among them. `kind` is the kind
    of every named file, and the only one that is wanted of directories. Raises UsageError for standard input without a
    kind.
    """
    wanted = {kind} if kind else set(known)
    for path in paths:
        if path in STDIN_NAMES:
            if kind is None:
                raise UsageError("standard input has no name that says what it is; add --kind")
            yield InputFile(path, kind)
            continue
        try:
            directory = is_directory(path)
        except CannotRead as e:
            yield e
            continue
        if directory:
            empty = True
            for below in _files_below(path):
                if isinstance(below, CannotRead):
                    yield below
                    empty = False
                    continue
                for there, its in _named(below):
                    if its.kind in wanted:
                        yield InputFile(there, its.kind)
                        empty = False
            if empty:
                sought = " or ".join(sorted(wanted)) if len(wanted) < 4 else "file that kidx knows"
                yield CannotRead(f"{path}: nothing to read: no {sought} is in or below it")
        else:
            name = parse_file_name(path)
            if kind is None and name is not None and name.kind == REMOTE_INDEXES:
                yield from (InputFile(part, its.kind) for part, its in parts_of_segment(path))
            else:
                yield InputFile(path, kind or (name.kind if name else ""))


def _named(path: str) -> Iterator[tuple[str, FileName]]:
    """A file by what its name says, and the parts of a segment that the manifest of a remote one stands for."""
    name = parse_file_name(path)
    if name is not None:
        yield path, name
        if name.kind == REMOTE_MANIFEST:
            yield from parts_of_segment(path)


def _files_below(directory: str) -> Iterator[str | CannotRead]:
    """Every path below that is no directory, including FIFOs and dangling symlinks, which open_evidence reports."""
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
