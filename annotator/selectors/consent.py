"""Whether a person has agreed to a study's current consent text."""

from __future__ import annotations

from annotator.core.canonical import text_digest
from annotator.models import Participation
from annotator.selectors.snapshot import snapshot_content


def consented(participation: Participation) -> bool:
    """Whether they agreed to exactly this text and haven't withdrawn; true if the study has no consent text."""
    text = snapshot_content(participation.study.snapshot_id)["consent_text"]
    if not text:
        return True
    return participation.consents.filter(digest=text_digest(text), withdrawn_at__isnull=True).exists()
