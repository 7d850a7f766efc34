"""Sentences used by several rules."""

from __future__ import annotations

REBUILD = "kidx rebuild DIRECTORY --output FIXED"
LOADS_IT = (
    "Before 2.3 a broker checked at start only that the last entry is not before the first; since 2.3 (KAFKA-7283) "
    "it checks nothing: "
)
TIERED = " A tiered-storage cache (RemoteIndexCache) still makes the old check of the last entry when it loads a file."
CONFIRM_BY_REBUILD = (
    "To confirm, rebuild the index from its log into another directory and compare: `kidx rebuild DIRECTORY --output "
    "FIXED`, then `kidx diff`. An index is derived from its log. Replace the damaged file alone while the broker is "
    "stopped: deleting all of a broker's indexes makes it read every log at its next start."
)
REBUILD_STATE_FILE = "kidx rebuild FILE --in-place"
FETCH_AGAIN = (
    "let this replica fetch the partition again from a healthy one; if none is healthy: "
    "kidx recover REPLICA... --output DIR"
)
