"""Whether a person has agreed to a study's current consent text."""

from __future__ import annotations

from annotator.models import Participation
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study_texts import consent_digests


def consented(participation: Participation) -> bool:
    """Whether they agreed to exactly this text, in any of its languages, and haven't withdrawn; true if the study has no consent text."""
    rules = snapshot_content(participation.study.snapshot_id)
    if not rules["consent_text"]:
        return True
    digests = consent_digests(rules)
    return participation.consents.filter(digest__in=digests, withdrawn_at__isnull=True).exists()
