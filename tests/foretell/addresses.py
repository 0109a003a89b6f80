"""The addresses of the product, from the resolver."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.urls import URLPattern, URLResolver

#: A variable of a path: ``<int:pk>``, ``(?P<name>…)`` or ``(.*)``.
VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)|\(\.\*\)|\(\?:\\\.[^)]*\)\??")


def routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern).lstrip("^").removesuffix("$").removesuffix(r"\Z")
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif "logout" not in route:
            yield "/" + route.replace("\\", "")


def fill(route: str, values: dict[str, str], hostile: int = -1, instead: str = "") -> str:
    """The path with known values for its variables, and ``instead`` for the one with the number ``hostile``."""
    parts, end = [], 0
    for number, found in enumerate(VARIABLE.finditer(route)):
        parts += [
            route[end : found.start()],
            instead if number == hostile else values.get(found[1] or found[2], "1"),
        ]
        end = found.end()
    return "".join([*parts, route[end:]])
