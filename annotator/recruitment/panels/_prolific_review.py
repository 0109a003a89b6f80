"""Prolific's rules for reviewing submissions.

Sources: the API's description of July 2026 (reasons, length of the text, ``UNREJECT``) and Prolific's help for researchers, "Valid
and invalid rejection reasons" and "How do I decide who to accept/reject?": exceptionally fast means three standard deviations
below the mean; one failed attention check is enough in studies under five minutes, several otherwise; after 21 days submissions
are approved by themselves. The description gives no time limit for ``UNREJECT``: the same 21 days are used.
"""

from __future__ import annotations

from annotator.recruitment.review_rules import CHECKS, QUICK, RejectReason, ReviewRules

#: A failed exam is none of them; reasons about codes, devices and longitudinal studies don't concern the work that is seen here.
REVIEW_RULES = ReviewRules(
    title="Prolific",
    reasons=(
        RejectReason("FAILED_CHECK", "Failed attention checks", CHECKS),
        RejectReason("TOO_QUICKLY", "Exceptionally fast", QUICK),
        RejectReason("LOW_EFFORT", "Clearly low effort"),
        RejectReason("FAILED_INSTRUCTIONS", "Didn't follow the instructions"),
        RejectReason("NO_DATA", "Skipped crucial questions"),
        RejectReason("OTHER", "Another reason"),
    ),
    open=frozenset({"AWAITING REVIEW"}),
    days=21,
    least_text=100,
    unreject=True,
)
