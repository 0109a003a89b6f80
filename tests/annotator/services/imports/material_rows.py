"""Rows of material, and files of them."""

from __future__ import annotations

import io
import json
from typing import Any

ROW = {
    "question": "Can owls swim?",
    "explanation": "Owls are birds, and birds do not swim.",
    "answer": "no",
    "follow_up": "Can penguins swim?",
    "real_output": "yes",
    "system": "toy-cot",
    "key": "owl-1",
}


def jsonl(*rows: dict[str, Any]) -> io.BytesIO:
    return io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())
