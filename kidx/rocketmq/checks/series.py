"""Files of a series by their names and lengths, without opening them."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.findings import Finding
from kidx.rocketmq.checks.making import finding
from kidx.rocketmq.layout import StoreFile


def check_series(files: list[StoreFile], file_bytes: int | None) -> Iterator[Finding]:
    """Lengths other than the configured one, names that are no offsets, gaps between one file and the next."""
    before: StoreFile | None = None
    for file in files:
        if file.base is None:
            yield finding("KXR103", file.path, f"{file.name} is no offset, so this is no file of the series")
            continue
        if file_bytes is not None and file.size != file_bytes:
            yield finding(
                "KXR101",
                file.path,
                f"it has {file.size} bytes, the files of its kind have {file_bytes}",
                expected=file_bytes,
                found=file.size,
            )
        if before is not None and before.base is not None and file_bytes and file.base != before.base + file_bytes:
            yield finding(
                "KXR102",
                file.path,
                f"it starts at {file.base} and the file before it ends at {before.base + file_bytes}",
                expected=before.base + file_bytes,
                found=file.base,
            )
        before = file


def usable(files: list[StoreFile]) -> list[StoreFile]:
    """The files that can be checked as data: those whose name says where they start, and that are not empty."""
    return [file for file in files if file.base is not None and file.size > 0]
