"""Files of material with many rows."""

from __future__ import annotations

import json
from typing import Any

from tests.annotator.services.imports.material_rows import ROW


def material(rows: int = 20, **wrong: Any) -> bytes:
    """JSON Lines for a simulation study. ``wrong`` changes the last row."""
    lines = [ROW | {"key": f"k{n}", "follow_up": f"Can penguin {n} swim?"} for n in range(rows)]
    if wrong:
        lines[-1] |= wrong
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
