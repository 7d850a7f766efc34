"""Walks partitions, segments, logs and indexes, and asks the rules of kidx.checks.rules about each; names none."""
