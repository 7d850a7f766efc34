"""Write the derived pages of docs/ (`make docs`): formats.md, rules.md and startup-rules.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kidx.checks.catalogue import RULES
from kidx.findings import Rule
from kidx.formats.batches import BATCH_HEADER, MESSAGE_V0, MESSAGE_V1
from kidx.formats.fields import RecordFormat
from kidx.formats.indexes import INDEX_FORMATS, IndexFormat
from kidx.formats.producer_snapshot import PRODUCER_ENTRY
from kidx.rocketmq import formats as rocketmq
from kidx.rocketmq.catalogue import RULES as ROCKETMQ_RULES
from kidx.startup.behaviours import BEHAVIOURS

DOCS = Path(__file__).resolve().parent
MADE_BY = "<!-- Made by docs/make_pages.py (`make docs`) from {0}; change it there. -->\n"

KAFKA = (*INDEX_FORMATS, BATCH_HEADER, MESSAGE_V1, MESSAGE_V0, PRODUCER_ENTRY)
ROCKETMQ = tuple(value for value in vars(rocketmq).values() if isinstance(value, RecordFormat))


def format_section(record: RecordFormat) -> Iterator[str]:
    yield f"### {record.name[0].upper()}{record.name[1:]}: {record.size} bytes\n"
    suffix = f"Files named `<base offset>{record.suffix}`. " if isinstance(record, IndexFormat) else ""
    yield f"{suffix}Source: `{record.source}`. Row schema of `kidx dump`: `{record.schema}`.\n"
    yield "| bytes | field | type | unit | meaning |\n|---|---|---|---|---|"
    for field in record.fields:
        start, end = record.field_span(field.name)
        span = f"{start}" if end == start + 1 else f"{start}-{end - 1}"
        yield f"| {span} | `{field.name}` | {field.type_name} | {field.unit} | {field.meaning} |"
    yield ""


def formats_page() -> str:
    lines = [
        "# Formats\n",
        MADE_BY.format("the declarations in kidx/formats and kidx/rocketmq"),
        "All numbers are big-endian, on every machine. An index has no header, no checksum and, except for the "
        "transaction index, no version: its bytes are its entries. A new index is preallocated with zeros up to "
        "`segment.index.bytes`; they are cut off when the segment rolls or the broker stops cleanly.\n",
        "## Kafka\n",
        *(line for record in KAFKA for line in format_section(record)),
        "## RocketMQ\n",
        *(line for record in ROCKETMQ for line in format_section(record)),
    ]
    return "\n".join(lines)


def rule_section(rule: Rule) -> Iterator[str]:
    yield f"## {rule.code} {rule.name}\n"
    yield f"**{rule.title}.** Severity: {rule.severity}.\n"
    yield f"*What a broker does:* {rule.broker}\n"
    yield f"{rule.story}\n"
    if rule.repair:
        yield f"Repair: `{rule.repair}`\n"


def rules_page() -> str:
    rules = [*RULES.values(), *ROCKETMQ_RULES.values()]
    lines = [
        "# Rules\n",
        MADE_BY.format("kidx/checks/rules/ and kidx/rocketmq/rules/"),
        "The rules of `kidx verify` and `kidx rocketmq verify`, as `kidx explain CODE` prints them. Codes are stable: "
        "the number of a removed rule is not used again.\n",
        "At most 1,000 findings of a rule in a file are listed; one more finding of the rule then counts the rest (its "
        "`found`). In each range of a log (a process's share of it), at most 20,000 findings about batches and 1,000 "
        "gaps are kept, so in a heavily damaged log that count is a lower bound. The screen shows 20 findings of a "
        "rule in a file and counts the others; `--all` shows them.\n",
        "| code | name | severity | what it means |\n|---|---|---|---|",
        *(f"| [{r.code}](#{r.code.lower()}-{r.name}) | {r.name} | {r.severity} | {r.title} |" for r in rules),
        "",
        *(line for rule in rules for line in rule_section(rule)),
    ]
    return "\n".join(lines)


def startup_rules_page() -> str:
    lines = [
        "# What a broker does at a start: every behaviour\n",
        MADE_BY.format("kidx/startup/behaviours.py"),
        "The names are those of the field `rule` of `kidx startup`. Each was seen in a run of a real broker, of 4.3.1 "
        "where no version is named; [startup.md](startup.md) says how to read them.\n",
        "| rule | what happens | Kafka's source | run |\n|---|---|---|---|",
        *(f"| `{b.name}` | {b.text} | `{b.source}` | {b.run} |" for b in BEHAVIOURS.values()),
    ]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Each derived page's text by its file's name."""
    return {"formats.md": formats_page(), "rules.md": rules_page(), "startup-rules.md": startup_rules_page()}


def main() -> None:
    for name, text in pages().items():
        (DOCS / name).write_text(text)


if __name__ == "__main__":
    main()
