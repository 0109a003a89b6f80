"""Sections that every HIT type has."""
