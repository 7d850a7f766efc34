"""Files of a series: their lengths, their names, gaps between them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kidx.findings import ERROR, WARNING, Finding, Rule
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.subjects.series import IndexNames, Series

WRONG_LENGTH = Rule(
    "KXR101",
    "wrong-length",
    ERROR,
    "A file does not have the configured length",
    "The whole store refuses to load, whichever queue the file belongs to. (A last file of 0 bytes: 5.x deletes it.)",
    "Every file of a series has the same, configured length, zero-filled from the start. Another length is a copy "
    "that did not finish, or another configuration: without --config kidx takes the most frequent length for the right "
    "one.",
    "copy the file again, or give kidx the broker's --config",
)
MISSING_FILE = Rule(
    "KXR102",
    "missing-file",
    ERROR,
    "A file is missing from the middle of a series",
    "Loads (the log says: adjacent files' offsets don't match). Reading the missing part finds nothing; offsets "
    "after the gap are found by walking the list of files.",
    "Files of a series are named by the offset they start at, one file length apart. Brokers delete from the front "
    "only, so a gap was made by hand or by a broken copy.",
    "restore the file from a copy or a slave",
)
STRAY_FILE = Rule(
    "KXR103",
    "stray-file",
    WARNING,
    "A file that belongs to no series",
    "The broker treats every file in these directories as one of its own: it refuses to load, because the length is "
    "wrong or the name is not a number.",
    "Editors' backups, notes and half-copied files do not belong in a store's directories.",
    "move it elsewhere before a broker starts on this store",
)


@asked_of(Series)
def wrong_length(series: Series) -> Iterator[Finding]:
    """Files of another length than their series has."""
    for file in series.files:
        if series.file_bytes is not None and file.base is not None and file.size != series.file_bytes:
            text = f"it has {file.size} bytes, the files of its kind have {series.file_bytes}"
            yield WRONG_LENGTH.finding(file.path, text, expected=series.file_bytes, found=file.size)


@asked_of(Series)
def missing_file(series: Series) -> Iterator[Finding]:
    """Files that do not start where the one before them ends."""
    named = [file for file in series.files if file.base is not None]
    for before, file in pairwise(named):
        end = (before.base or 0) + (series.file_bytes or 0)
        if series.file_bytes and file.base != end:
            text = f"it starts at {file.base} and the file before it ends at {end}"
            yield MISSING_FILE.finding(file.path, text, expected=end, found=file.base)


@asked_of(Series)
def stray_file(series: Series) -> Iterator[Finding]:
    """Files whose name is not an offset."""
    for file in series.files:
        if file.base is None:
            yield STRAY_FILE.finding(file.path, f"{file.name} is not an offset, so this is no file of the series")


@asked_of(IndexNames)
def stray_index_file(index: IndexNames) -> Iterator[Finding]:
    """Files in the index directory whose name is not a time."""
    for file in index.files:
        if file.base is None:
            yield STRAY_FILE.finding(file.path, f"{file.name} is not a time, so this is no index file")
