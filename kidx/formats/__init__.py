"""Bytes to values and back. Buffers, never paths; one declaration per format, from which everything else derives."""
