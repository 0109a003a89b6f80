"""A person's steps in a study: joining, consent, instructions, practice, leaving, finishing."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotator.core.canonical import text_digest
from annotator.core.errors import Refused
from annotator.models import Consent, Participation, Rater, Snapshot, Study, User
from annotator.recruitment.identity import PanelIdentity
from annotator.recruitment.registry import panel_get
from annotator.selectors.places import places_of
from annotator.selectors.qualification import requirement_task, requirements_missing
from annotator.selectors.snapshot import snapshot_content
from annotator.services.assignment import participation_release
from annotator.services.limits import refuse_too_many_joins

_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def annotator_create() -> User:
    """Create an account without a name or a password, for a person who joins by a link."""
    return User.objects.create_user(username="A-" + "".join(secrets.choice(_LETTERS) for _ in range(8)))


def rater_for(*, user: User) -> Rater:
    """The person's rater, the same one in every study."""
    return Rater.objects.get_or_create(
        user=user, defaults={"kind": Rater.Kind.HUMAN, "source": "login", "name": user.username}
    )[0]


@transaction.atomic
def participation_join(
    *,
    study: Study,
    user: User,
    parameters: Mapping[str, str] | None = None,
    identity: PanelIdentity | None = None,
) -> Participation:
    """Join a study; joining again returns the same participation. ``identity`` is who the study's panel says that the
    person is; only ``panel_join`` passes it.

    Raises ``Refused`` if the study takes its participants from a panel and the person didn't come from there
    (panel_needed), if it is closed or paused, if it is full (no_places), if it requires a qualification that
    the person lacks (needs), or if too many people have joined it (too_many) or the person has joined too many studies
    (too_many_studies).

    ``parameters`` are those of the join link. Those that the study lists (``Study.join_parameters``) are stored, up to
    200 characters of each: the panel's ids for the person.
    """
    rater = rater_for(user=user)
    existing = Participation.objects.filter(study=study, rater=rater).first()
    if existing is not None:
        return existing
    if study.state == Study.State.PAUSED and not rater.rehearsal:
        raise Refused("paused", gettext("The researchers have paused this study."))
    if study.deleted_at is not None:
        raise Refused("closed", gettext("This study is not accepting participants."))
    if not rater.rehearsal and (study.state != Study.State.LIVE or not study.join_open):
        raise Refused("closed", gettext("This study is not accepting participants."))
    panel = panel_get(study.panel)
    if panel is not None and identity is None and not rater.rehearsal:
        raise panel.refused("panel_needed")
    if not rater.rehearsal and places_of(study).full:
        raise Refused("no_places", gettext("All places of this study are taken at the moment."))
    if not rater.rehearsal:
        refuse_too_many_joins(study=study, rater=rater)
    rules = snapshot_content(study.snapshot_id)
    if missing := requirements_missing(rules=rules, rater_id=rater.pk, workspace_id=study.workspace_id):
        raise Refused("needs", needs_words(missing))
    try:
        with transaction.atomic():
            return Participation.objects.create(
                study=study,
                rater=rater,
                join_parameters=parameters_kept(study, parameters or {}),
                recruiter=identity.panel if identity else "",
                recruiter_id=identity.person if identity else "",
            )
    except IntegrityError:
        same = Participation.objects.filter(study=study, rater=rater).first()
        if same is None:  # the panel's participant has joined with another account at the same moment
            raise
        return same


def parameters_kept(study: Study, parameters: Mapping[str, str]) -> dict[str, str]:
    """What a study keeps of the parameters of a join link."""
    names = (name.strip() for name in study.join_parameters.split(","))
    return {
        name: parameters[name].replace("\x00", "")[:200] for name in names if name and parameters.get(name)
    }


def needs_words(missing: list[str]) -> str:
    """The missing qualifications, in words for annotators."""
    tasks = ", ".join(f"“{requirement_task(one)}”" for one in missing)
    return gettext("This study is for people who have passed the exam for these tasks: {tasks}.").format(
        tasks=tasks
    )


def consent_give(*, participation: Participation, digest: str) -> Consent:
    """Record that the person agreed to the text that they were shown, and the text itself. ``digest`` is the digest of
    that text; if the study's text has changed since, they must see the new one first (``Refused``, not_now).
    """
    rules = snapshot_content(participation.study.snapshot_id)
    every = [
        rules["consent_text"],
        *(translation.get("consent_text", "") for translation in rules.get("translations", {}).values()),
    ]
    text = next((text for text in every if text_digest(text) == digest), None)
    if text is None:
        raise Refused("not_now", gettext("The consent text has changed. Please read it again."))
    consent, _ = Consent.objects.get_or_create(
        participation=participation, digest=digest, defaults={"text": text}
    )
    if consent.withdrawn_at is not None:
        consent.withdrawn_at = None
        consent.given_at = timezone.now()
        consent.save(update_fields=["withdrawn_at", "given_at"])
    return consent


def instructions_finish(*, participation: Participation, version: int | None = None) -> None:
    """Finish the instructions step: the person has read version ``version`` of the study (None: the current one)."""
    if participation.instructions_at is None:
        participation.instructions_at = timezone.now()
        participation.instructions_seen = _version(participation, version)
        participation.save(update_fields=["instructions_at", "instructions_seen"])
    else:
        instructions_confirm(participation=participation, version=version)


def instructions_confirm(*, participation: Participation, version: int | None = None) -> None:
    """Record that the person has read the changes in the instructions up to ``version`` (None: the current one).

    Does nothing before the instructions step itself is finished, or if the page was opened before the latest change.
    """
    current = participation.study.snapshot
    if participation.instructions_at is not None and _version(participation, version) == current:
        participation.instructions_seen = current
        participation.save(update_fields=["instructions_seen"])


def _version(participation: Participation, number: int | None) -> Snapshot | None:
    study = participation.study
    return study.snapshot if number is None else study.snapshots.filter(number=number).first()


def practice_answer(*, participation: Participation, number: int) -> None:
    """Record that practice question ``number`` (from 0) has a valid answer, right or wrong; only the next question
    counts."""
    Participation.objects.filter(pk=participation.pk, practice_done=number).update(
        practice_answered=number + 1
    )


def practice_advance(*, participation: Participation, number: int) -> None:
    """Move on from practice question ``number`` (from 0) to the next one; does nothing unless it was answered."""
    Participation.objects.filter(
        pk=participation.pk, practice_done=number, practice_answered__gt=number
    ).update(practice_done=number + 1)


@transaction.atomic
def participation_leave(*, participation: Participation) -> None:
    """Leave the study: submitted work stays and is paid, and open tasks are released."""
    Participation.objects.select_for_update().get(pk=participation.pk)  # before their tasks, as a submit does
    participation_release(participation=participation, reason="left the study")
    participation.state = Participation.State.LEFT
    participation.finished_at = timezone.now()
    participation.save(update_fields=["state", "finished_at"])


@transaction.atomic
def participation_return(*, participation: Participation) -> None:
    """Take part again after leaving or declining, as long as the study isn't closed.

    Raises ``Refused`` (closed, removed, panel_ended) otherwise.
    """
    participation = (
        Participation.objects.select_for_update(of=("self",)).select_related("study").get(pk=participation.pk)
    )
    if participation.state == Participation.State.REMOVED:
        raise Refused("removed", gettext("The researchers have ended your participation in this study."))
    if participation.study.state == Study.State.CLOSED:
        raise Refused("closed", gettext("This study is closed, so you can't come back to it."))
    panel = panel_get(participation.recruiter)
    if panel is not None and participation.panel_ended:
        raise panel.refused("panel_ended", panel.troubles["panel_ended"].title)
    if participation.state == Participation.State.LEFT:
        participation.state = Participation.State.ACTIVE
        participation.finished_at = None
        participation.save(update_fields=["state", "finished_at"])


def participation_finish(*, participation: Participation) -> None:
    """Mark the study as completed by this person, for whom nothing is left; their completion code is then shown."""
    if participation.state == Participation.State.ACTIVE and participation.finished_at is None:
        participation.finished_at = timezone.now()
        participation.save(update_fields=["finished_at"])
