"""Serializers that refuse keys that they don't know, so that a misspelled option isn't silently left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers


class KnownKeysSerializer(serializers.Serializer[Any]):
    """A serializer for which an unknown key is an error."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            strange = sorted(str(name) for name in set(data) - set(self.fields))
            if strange:
                expected = f"is not known; expected one of: {', '.join(self.fields)}"
                raise serializers.ValidationError({name: [expected] for name in strange[:20]})
        return super().to_internal_value(data)
