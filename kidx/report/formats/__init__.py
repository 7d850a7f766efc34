"""Renderers of a typed table in text, table, json, jsonl and csv. They know column types, not meanings."""
