"""Renderers of a typed table: one a format, for all commands. Nothing here knows what a row means."""
