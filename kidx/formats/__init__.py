"""Bytes to values and back. Functions take buffers, not paths; each format is declared once, as a table of fields."""
