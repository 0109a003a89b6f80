"""P3 Table 13 and Figure 7 if each group of properties has its own study, as in the paper: all eight in one table."""

from __future__ import annotations

from evaluation.reports.across_studies import Across
from evaluation.reports.content import Section
from evaluation.reports.registry import section_across
from evaluation.reports.tables.p3_table13 import properties_section


@section_across(order=40, title="P3 Table 13: properties of rationales", replaces="p3_table13")
def p3_properties_across(across: Across) -> Section | None:
    """One column per property, whichever study judged it, and the average over all properties."""
    contexts = across.measuring("rationale_properties")
    return properties_section(contexts) if across.joins(contexts) else None
