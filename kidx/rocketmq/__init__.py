"""RocketMQ's store, in layers that correspond to those for Kafka. Nothing here writes.

formats and messages (bytes) < layout, config and broker_version (files, settings, version) < commit_log, queues,
index files (as a broker maps them) < store (a load, recovery included, in memory) < time_search, pull, replicas.
`kidx rocketmq verify`: subjects (what rules examine) < rules < engine (walks the store) < verify.
"""
