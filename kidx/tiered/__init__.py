"""Tiered storage: the segments that brokers moved to a remote tier, next to the log dirs and the metadata topic."""
