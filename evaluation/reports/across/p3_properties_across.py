"""P3 Table 13 and Figure 7 where each group of properties is a study of its own, as in the paper: all eight in one table."""

from __future__ import annotations

from evaluation.reports.across_studies import Across
from evaluation.reports.content import Section
from evaluation.reports.registry import section_across
from evaluation.reports.tables.p3_table13 import properties_section


@section_across(order=40, title="P3 Table 13: properties of rationales", replaces="p3_table13")
def p3_properties_across(across: Across) -> Section | None:
    """One column a property, whichever study judged it; the average over all of them."""
    contexts = across.measuring("rationale_properties")
    return properties_section(contexts) if len(contexts) > 1 else None
