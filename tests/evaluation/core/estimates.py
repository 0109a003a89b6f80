"""The estimates in a report, at any depth."""

from __future__ import annotations


def estimates_in(found, name=""):
    """Every object with an interval under its name, however deep."""
    if isinstance(found, dict):
        if {"value", "low", "high"} <= set(found):
            yield name, found
        for key, value in found.items():
            yield from estimates_in(value, key)
    elif isinstance(found, list):
        for value in found:
            yield from estimates_in(value, name)
