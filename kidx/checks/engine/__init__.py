"""Walks partitions, segments, logs and indexes, and applies the rules of kidx.checks.rules to each; it names no rule."""
