"""Rows of material with a picture."""

from __future__ import annotations

ROW = {
    "question": "![A cat on a mat](cat.png)",
    "explanation": "It sits on a mat.",
    "answer": "yes",
    "follow_up": "Does it lie?",
    "formats": {"question": "image"},
}
