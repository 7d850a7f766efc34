"""Walks partitions, segments, logs and indexes, and applies the rules of kidx.checks.rules; it names no rule."""
