"""Sentences used by several rules."""

REBUILD = (
    "stop the broker, move consumequeue/TOPIC/QUEUE (or index/) aside and start it: queues and index are rebuilt from "
    "the commit log, as far as it still goes back"
)
BROKEN_UNIT = (
    "A consumer that pulls this offset gets the wrong bytes or none (MESSAGE_WAS_REMOVING); a time search that probes "
    "the unit takes a wrong turn or throws."
)
DAMAGED_LOG = (
    "Recovery stops at the first record that is damaged and cuts off everything after it, if it is among the files "
    "that recovery reads; in older files the damage goes unnoticed until a consumer reads there."
)
LOG_STORY = (
    "The commit log is the source of everything else: queues and index are derived from it. Damage here is lost data "
    "unless a slave has it: compare with `kidx rocketmq diff MASTER SLAVE`, the logs are identical byte for byte."
)
