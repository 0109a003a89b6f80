"""A report as JSON: the stored content as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def render(content: Mapping[str, Any]) -> str:
    """The whole report; numbers are not rounded, what is not defined is null with its reason."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
