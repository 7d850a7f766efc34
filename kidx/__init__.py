"""Forensics for Kafka's index files and the segments they point into."""

__version__ = "0.1.0"
