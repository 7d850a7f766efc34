"""Counts and sizes in words."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """A number and its noun: `1 page`, `1,024 pages`, `2 entries` (with `many`, where an s does not do)."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def size_text(size: float, *, unit: str = "bytes") -> str:
    """A number of bytes in binary units: `512 bytes`, `8.0 KiB`, `1.5 TiB`. `unit` names the bytes below 1 KiB."""
    if abs(size) < 1024:
        return f"{size:.0f} {unit}"
    amount = float(size)
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        amount /= 1024
        if abs(amount) < 1024 or larger == "TiB":
            break
    return f"{amount:,.1f} {larger}"
