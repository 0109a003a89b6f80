"""Kinds of follow-up that both the steps that write them and the statistics know."""

from __future__ import annotations

#: Follow-ups that were written without a look at the explanation (the PolyJuice row of P1 Table 1).
BASELINE_KIND = "baseline"
