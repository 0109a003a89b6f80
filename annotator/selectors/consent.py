"""Whether a person has agreed to a study's current consent text, and why they are asked again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from annotator.models import Assignment, Participation
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study_texts import consent_digests


def consented(participation: Participation) -> bool:
    """Whether they agreed to exactly this text, in any of its languages, and haven't withdrawn; true if the study has no consent text."""
    rules = snapshot_content(participation.study.snapshot_id)
    if not rules["consent_text"]:
        return True
    digests = consent_digests(rules)
    return participation.consents.filter(digest__in=digests, withdrawn_at__isnull=True).exists()


@dataclass(frozen=True)
class AskedAgain:
    """Why somebody who already takes part is asked to agree. ``text`` and ``at``: what they agreed to last, and when;
    empty if the study had no consent text. ``kept``: an answer of theirs waits as a draft."""

    text: str
    at: datetime | None
    kept: bool


def asked_again(participation: Participation) -> AskedAgain | None:
    """None for somebody who is asked for the first time."""
    last = participation.consents.filter(withdrawn_at__isnull=True).order_by("-given_at").first()
    if last is None and participation.instructions_at is None:
        return None
    held = participation.assignments.filter(state=Assignment.State.LEASED).exclude(draft={})
    return AskedAgain(last.text if last else "", last.given_at if last else None, held.exists())
