"""Bytes to values and back. Buffers in, never paths; one declaration a format, everything else derived from it."""
