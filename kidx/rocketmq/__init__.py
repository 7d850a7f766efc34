"""RocketMQ's store: the second system, in a wing of its own with the same inner order as Kafka's rooms.

formats and messages (bytes) < layout, config and broker_version (what is where, which broker) < commit_log, queues,
index files (as a broker maps them) < store (a load, recovery included, in memory) < time_search, pull, replicas.
`kidx rocketmq verify`: subjects (what rules are asked about) < rules < engine (walks the store) < verify. Nothing here
writes.
"""
