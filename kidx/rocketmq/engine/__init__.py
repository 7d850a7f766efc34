"""Walks a store and applies every rule to each part of it; names no rule."""
