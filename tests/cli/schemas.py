"""The fields that docs/schemas-*.md list."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def documented_fields(document: str, schema: str) -> list[str]:
    """The fields of a schema, in the order of its table in docs/schemas-<document>.md."""
    section = (DOCS / f"schemas-{document}.md").read_text().split(f"## {schema}\n")[1].split("\n## ")[0]
    return [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
