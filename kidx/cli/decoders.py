"""Names of Kafka's own topics on the command line."""

from __future__ import annotations

import click

from kidx.errors import UsageError

# DumpLogSegments' option without its -decoder, the topic, and the family that kidx.formats.schemas.topics calls it by.
DECODERS = (
    ("offsets", "__consumer_offsets", "group"),
    ("transaction-log", "__transaction_state", "transaction"),
    ("cluster-metadata", "__cluster_metadata", "metadata"),
    ("share-group-state", "__share_group_state", "share"),
    ("remote-log-metadata", "__remote_log_metadata", "remote"),
)


class TopicFamily(click.ParamType):
    """One of Kafka's own topics: by its name, by DumpLogSegments' word for its decoder, or by kidx's short one."""

    name = "topic"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The family's name."""
        said = str(value).strip("_").replace("-", "_")
        for names in DECODERS:
            if said in {name.strip("_").replace("-", "_") for name in names}:
                return names[-1]
        known = ", ".join(f"{topic.strip('_')} ({word})" for word, topic, _ in DECODERS)
        raise UsageError(f"{value} is none of Kafka's own topics: {known}")
