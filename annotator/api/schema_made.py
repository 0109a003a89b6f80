"""The OpenAPI schema, made once for each process: it takes half a second, and nothing in it depends on who asks."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.utils import translation
from drf_spectacular.generators import SchemaGenerator


@cache
def schema_made() -> dict[str, Any]:
    """The schema of the whole API, in English."""
    with translation.override("en"):
        return dict(SchemaGenerator().get_schema(request=None, public=True))


class MadeSchema:
    """What drf-spectacular's view asks for a schema, in place of its generator."""

    def __init__(self, **options: Any) -> None:
        pass

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        return schema_made()
