"""Whether somebody has agreed to the text that a study has now."""

from __future__ import annotations

from annotator.core.canonical import text_digest
from annotator.models import Participation
from annotator.selectors.snapshot import snapshot_content


def consented(participation: Participation) -> bool:
    """To this very text, and not withdrawn since; true where the study has none."""
    text = snapshot_content(participation.study.snapshot_id)["consent_text"]
    if not text:
        return True
    return participation.consents.filter(digest=text_digest(text), withdrawn_at__isnull=True).exists()
