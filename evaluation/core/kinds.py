"""Kinds of follow-up that the steps which write them share with the statistics."""

from __future__ import annotations

#: Follow-ups that were written without the explanation (the PolyJuice row of P1 Table 1).
BASELINE_KIND = "baseline"
