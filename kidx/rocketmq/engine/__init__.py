"""Walks a store and asks every rule about each part of it; knows no rule by name."""
