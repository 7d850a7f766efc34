"""Renderers of a typed table as text, table, json, jsonl and csv. They depend on column types, not on meanings."""
