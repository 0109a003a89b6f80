"""Serializers that refuse keys that they don't know, so that a misspelled field isn't silently left out."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from rest_framework import serializers

#: Sent by forms of pages, with any body.
_ALWAYS = frozenset({"csrfmiddlewaretoken"})


class KnownKeys:
    """For serializers of what is sent: an unknown key is an error, which names the field that was probably meant.

    Fields that are only shown may be sent as well, so that an answer can be changed and sent back; they change nothing.
    """

    fields: Any

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            strange = sorted(str(name) for name in set(data) - set(self.fields) - _ALWAYS)
            if strange:
                raise serializers.ValidationError({name: [self._unknown(name)] for name in strange[:20]})
        return super().to_internal_value(data)  # type: ignore[misc]

    def _unknown(self, name: str) -> str:
        known = [field for field, shape in self.fields.items() if not shape.read_only]
        near = get_close_matches(name, known, n=1, cutoff=0.7)
        return (
            f"is not known; did you mean {near[0]}?"
            if near
            else f"is not known; expected one of: {', '.join(known)}"
        )


class KnownKeysSerializer(KnownKeys, serializers.Serializer[Any]):
    """A serializer for which an unknown key is an error."""
