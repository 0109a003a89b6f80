"""Researchers write to participants first: to one, to several, or to all who haven't answered; with templates, and through the panel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.core.jobs import lock_held
from annotator.core.words import plural
from annotator.models import AuditAction, Message, MessageTemplate, Participation, Study, User
from annotator.recruitment.api import PanelApi, PanelApiError
from annotator.recruitment.registry import panel_get
from annotator.selectors.message import participation_remote_study
from annotator.selectors.panel_connection import connection_of
from annotator.services.audit import audit_write, audit_write_each
from annotator.services.panel_connection import connection_api

#: The same text to the same person within this time is the same message, sent twice by mistake.
SAME = timedelta(minutes=10)
LONGEST = 5_000
#: So many people are named in one request to a panel.
AT_ONCE = 500


@dataclass(frozen=True)
class Sent:
    """How many participants a message was sent to, how many of them also through the panel, and how many had it already."""

    people: int
    through_panel: int
    already: int

    @property
    def already_words(self) -> str:
        """What is said about those who had got it, after another sentence; empty if there are none."""
        return (
            f" {self.already:,} had got the same text a moment ago, and don't get it twice."
            if self.already
            else ""
        )


def messages_write(*, study: Study, raters: Sequence[int], by: User | None, text: str, through_panel: bool = False) -> Sent:  # fmt: skip
    """Write one text to participants of a study. They read it on their own page and beside their next task; with ``through_panel``,
    those who came from a panel get it there, too. Whoever got the same text a moment ago is passed over.

    Raises ``ValidationError`` without a text or a person, for somebody who doesn't take part, or if the panel doesn't take it. What it
    took before is recorded, so sending again reaches the others.
    """
    text = text.strip()
    if not text:
        raise ValidationError({"text": "Write a message first."})
    if len(text) > LONGEST or "\x00" in text:
        raise ValidationError({"text": f"Use at most {LONGEST:,} characters."})
    wanted = list(dict.fromkeys(raters))
    if not wanted:
        raise ValidationError("Select at least one person.")
    found = {
        participation.rater_id: participation
        for participation in study.participations.filter(rater__in=wanted, rater__rehearsal=False)
    }
    if len(found) < len(wanted):
        raise ValidationError("A selected person doesn't take part in this study.")
    with lock_held("messages of", study.pk) as mine:
        if not mine:
            raise ValidationError(
                "A message to participants of this study is being sent. Try again in a moment."
            )
        return _send(study, found, text, by, through_panel)


def _send(
    study: Study, found: Mapping[int, Participation], text: str, by: User | None, through_panel: bool
) -> Sent:
    lately = Message.objects.filter(
        study=study,
        rater__in=found,
        kind=Message.Kind.REPLY,
        text=text,
        created_at__gt=timezone.now() - SAME,
    )
    already = set(lately.values_list("rater", flat=True))
    people = [one for rater, one in found.items() if rater not in already]
    there = 0
    for remote, some in _of_the_panel(study, people) if through_panel else ():
        try:
            _api(study).message_send(study=remote, people=[one.recruiter_id for one in some], text=text)
        except PanelApiError as error:
            had = (
                f"{plural(there, 'person', 'people')} got it before, and won't get it twice."
                if there
                else "Nothing was recorded here."
            )
            raise ValidationError(f"{error} {had}") from None
        _record(study, some, text, by, through_panel=True)
        there += len(some)
        people = [person for person in people if person not in some]
    _record(study, people, text, by, through_panel=False)
    return Sent(there + len(people), there, len(already))


@transaction.atomic
def _record(
    study: Study, people: Sequence[Participation], text: str, by: User | None, *, through_panel: bool
) -> None:
    Message.objects.bulk_create(
        Message(
            study=study, rater_id=person.rater_id, kind=Message.Kind.REPLY, text=text, author=by, through_panel=through_panel
        )
        for person in people
    )  # fmt: skip
    after = {person.rater_id: {"through the panel": through_panel} for person in people}
    audit_write_each(action=AuditAction.MESSAGE_SENT, study=study, by=by, after=after)


def _api(study: Study) -> PanelApi:
    """The API of the study's panel. Raises ``ValidationError`` if it sends no messages, or isn't connected."""
    panel, connection = panel_get(study.panel), connection_of(study)
    if panel is None or panel.review_rules is None or connection is None:
        raise ValidationError(
            {"through_panel": "The workspace isn't connected to a panel that sends messages."}
        )
    return connection_api(connection)


def _of_the_panel(
    study: Study, people: Sequence[Participation]
) -> Iterator[tuple[str, Sequence[Participation]]]:
    """Those who came from the panel, as one request can name them: the panel's study and some people of it."""
    _api(study)
    panel = panel_get(study.panel)
    groups: dict[str, list[Participation]] = defaultdict(list)
    for person in people:
        if panel and person.recruiter == study.panel and person.recruiter_id and person.recruiter_verified:
            groups[participation_remote_study(study, panel, person)].append(person)
    groups.pop("", None)
    for remote, members in groups.items():
        for first in range(0, len(members), AT_ONCE):
            yield remote, members[first : first + AT_ONCE]


@transaction.atomic
def message_template_save(*, study: Study, title: str, text: str, by: User | None) -> MessageTemplate:
    """Keep a text as a template of the study's workspace; one with the same title is replaced. Raises ``ValidationError``."""
    title, text = title.strip(), text.strip()
    if study.workspace_id is None:
        raise ValidationError({"title": "Templates belong to a workspace, and this study has none."})
    if not title or len(title) > 80 or "\x00" in title:
        raise ValidationError({"title": "Give the template a title of at most 80 characters."})
    if not text or len(text) > LONGEST or "\x00" in text:
        raise ValidationError({"text": f"Write a text of at most {LONGEST:,} characters first."})
    made, _ = MessageTemplate.objects.update_or_create(
        workspace_id=study.workspace_id, title=title, defaults={"text": text, "created_by": by}
    )
    audit_write(action=AuditAction.WORKSPACE_CHANGED, workspace=study.workspace, by=by, after={"message template": title})  # fmt: skip
    return made


def message_template_delete(*, study: Study, pk: int) -> int:
    """Delete a template of the study's workspace; returns how many there were, so that a second press changes nothing."""
    found = MessageTemplate.objects.filter(workspace__isnull=False, workspace=study.workspace_id, pk=pk)
    return found.delete()[0]
