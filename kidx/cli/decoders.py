"""Names of Kafka's own topics on the command line."""

from __future__ import annotations

import click

from kidx.errors import UsageError

# DumpLogSegments' option without its -decoder, the topic, and its family in kidx.formats.schemas.topics.
DECODERS = (
    ("offsets", "__consumer_offsets", "group"),
    ("transaction-log", "__transaction_state", "transaction"),
    ("cluster-metadata", "__cluster_metadata", "metadata"),
    ("share-group-state", "__share_group_state", "share"),
    ("remote-log-metadata", "__remote_log_metadata", "remote"),
)


def topic_family(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An option's callback: the family of a topic given by its name, by DumpLogSegments' word for its decoder, or by
    kidx's short one. Raises UsageError.
    """
    if value is None:
        return None
    word = value.strip("_").replace("-", "_")
    for names in DECODERS:
        if word in {name.strip("_").replace("-", "_") for name in names}:
            return names[-1]
    known = ", ".join(f"{topic.strip('_')} ({word})" for word, topic, _ in DECODERS)
    raise UsageError(f"{value} is not one of Kafka's own topics: {known}")
