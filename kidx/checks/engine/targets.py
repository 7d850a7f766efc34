"""What paths select: whole directories, or some files of one. Each directory is listed once; nothing is opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kidx.errors import CannotRead
from kidx.evidence import absolute, exists, is_directory
from kidx.logdir.names import parse_file_name
from kidx.logdir.tree import walk_tree


class Target(NamedTuple):
    """A directory to check; `names` maps file names to the paths that were given, None for the whole directory.
    Picklable, for forks and Spark tasks.
    """

    directory: str
    names: dict[str, str] | None = None


def targets_of(paths: Iterable[str]) -> Iterator[Target | CannotRead]:
    """The targets that paths mean, by path, each directory and file once; and what cannot be listed.

    A directory stands for everything below it (links to directories are not followed), and files of the same directory
    go together, so that their neighbours are read once.
    """
    trees: dict[str, list[Target | CannotRead]] = {}
    lone: dict[str, Target] = {}
    for path in paths:
        try:
            whole = is_directory(path)
        except CannotRead:
            whole = False  # opening it will say what is wrong
        if whole:
            trees.setdefault(path, list(_below(path)) or [Target(path)])
        else:
            directory, name = os.path.split(path)
            target = lone.setdefault(absolute(directory), Target(directory, {}))
            if target.names is not None:
                target.names.setdefault(name, path)
    seen: set[str] = set()
    every = [one for found in trees.values() for one in found] + list(lone.values())
    for one in sorted(every, key=_sort_key):
        if isinstance(one, Target):
            key = absolute(one.directory)
            if key in seen:  # but a file that is not there, or none of Kafka's, is still to be said
                odd = {n: p for n, p in (one.names or {}).items() if parse_file_name(n) is None or not _there(p)}
                if not odd:
                    continue
                one = one._replace(names=odd)
            elif one.names is None:
                seen.add(key)
        yield one


def _there(path: str) -> bool:
    """Whether a named file exists. If the system cannot tell, the answer is no, and opening the file reports why."""
    try:
        return exists(path)
    except CannotRead:
        return False


def _sort_key(one: Target | CannotRead) -> tuple[str, bool]:
    """Whole directories before files given one by one, which they cover."""
    return (absolute(one.directory) + "/", one.names is not None) if isinstance(one, Target) else ("", False)


def _below(path: str) -> Iterator[Target | CannotRead]:
    for found in walk_tree(path):
        if isinstance(found, CannotRead):
            yield found
        elif any(parse_file_name(entry.name) for entry in found.entries):
            yield Target(found.directory)
