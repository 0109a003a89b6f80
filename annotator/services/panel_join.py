"""Join a study through a recruitment panel: one participation for each of the panel's participants.

Who may come back to a participation depends on how sure we are: with a signed link, the person whom it names, in any
browser; with a plain one, only the browser that began, since anybody can write another person's id into a link. Several
people may share that browser: a plain link with another id than its visitor's asks who is there.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotator.models import PanelEvent, PanelLink, Participation, Study, User
from annotator.recruitment.identity import PanelIdentity
from annotator.recruitment.registry import PANELS
from annotator.services.panel_events import event_apply, submission_digest
from annotator.services.participation import participation_join


def panel_person(
    *,
    study: Study,
    visitor: User | None,
    identity: PanelIdentity,
    here: Collection[int] = (),
    same: bool = False,
) -> User | None:
    """The account with which this participant joins or comes back; None if they need a new one.

    It may be another account than the ``visitor``'s: on a shared computer, or after cookies were cleared. An account
    without a password that the panel has vouched for in another study of the workspace is used again, so that
    qualifications count and nobody is asked twice about one instance. ``here`` are the accounts that used this browser
    before; ``same``: the visitor has said that they are the person who used it last, whatever their plain link says.
    Raises ``Refused`` (panel_known, panel_account).
    """
    if same and visitor is not None and not identity.verified and other_person(visitor, identity):
        mine = study.participations.filter(rater__user=visitor).exists()
        if mine:
            return visitor
    known = (
        Participation.objects.select_related("rater__user")
        .filter(study=study, recruiter=identity.panel, recruiter_id=identity.person)
        .first()
    )
    if known is not None:
        return _owner(known, visitor, identity, here)
    if visitor is not None and (not other_person(visitor, identity) or (same and not identity.verified)):
        return visitor
    shared = identity.verified and PANELS.get(identity.panel).ids_shared
    return _guest_of(study, identity) if shared else None


def _owner(
    known: Participation, visitor: User | None, identity: PanelIdentity, here: Collection[int]
) -> User:
    owner, panel = known.rater.user, PANELS.get(identity.panel)
    if owner is not None and owner == visitor:
        return owner
    if not identity.verified and (owner is None or owner.pk not in here):
        raise panel.refused("panel_known")
    if owner is None or not owner.is_active or owner.is_staff or owner.has_usable_password():
        raise panel.refused("panel_account")
    return owner


def other_person(visitor: User, identity: PanelIdentity) -> bool:
    """Whether the visitor's account belongs to another participant of the same panel."""
    theirs = Participation.objects.filter(rater__user=visitor, recruiter=identity.panel)
    return theirs.exclude(recruiter_id=identity.person).exclude(recruiter_id="").exists()


def _guest_of(study: Study, identity: PanelIdentity) -> User | None:
    if study.workspace_id is None:
        return None
    earlier = Participation.objects.select_related("rater__user").filter(
        study__workspace=study.workspace_id,
        recruiter=identity.panel,
        recruiter_id=identity.person,
        recruiter_verified=True,
        rater__user__is_active=True,
        rater__user__is_staff=False,
    )
    for one in earlier.order_by("-id"):
        if one.rater.user is not None and not one.rater.user.has_usable_password():
            return one.rater.user
    return None


def panel_join(*, study: Study, user: User, visitor: User | None, identity: PanelIdentity) -> Participation:
    """Join with the ``user`` that ``panel_person`` returned (or a new one), or come back to the participation.

    A signed link works in one browser: a copy of it is refused (panel_link) unless the ``visitor`` is already logged in
    as that user. A submission that replaces an ended one makes the participation active again. Raises ``Refused`` as
    ``participation_join`` does, too.
    """
    try:
        with transaction.atomic():
            # As a webhook does, and before anything refers to the study: whoever changes it would wait for us, and we for them.
            Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)
            participation = participation_join(
                study=study, user=user, parameters=identity.parameters, identity=identity
            )
            participation = Participation.objects.select_for_update(of=("self",)).get(pk=participation.pk)
            _link_use(participation, same_browser=visitor == user, identity=identity)
            _bind(participation, identity)
            return participation
    except IntegrityError:  # the same person or submission, at the same moment or under another id
        panel = PANELS.get(identity.panel)
        message = gettext("This submission on {panel} has already been used in another browser.")
        raise panel.refused("panel_known", message.format(panel=panel.title) if panel.named else "") from None


def _link_use(participation: Participation, *, same_browser: bool, identity: PanelIdentity) -> None:
    if not identity.digest:
        return
    row = PanelLink(
        study_id=participation.study_id,
        participation=participation,
        digest=identity.digest,
        expires_at=identity.expires_at or timezone.now(),
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        used = PanelLink.objects.filter(digest=identity.digest, participation=participation)
        if not (same_browser and used.exists()):
            message = gettext("This link has already been used in another browser.")
            raise PANELS.get(identity.panel).refused("panel_link", message) from None


def _bind(participation: Participation, identity: PanelIdentity) -> None:
    """Store the panel's ids, and what the panel has said about this submission before the person came."""
    if participation.recruiter_id not in ("", identity.person):
        return  # a plain link with another id, in the browser of somebody who already takes part
    changed = participation.recruiter_session != identity.submission
    if not changed and participation.recruiter_verified >= identity.verified and participation.recruiter_id:
        return
    participation.recruiter, participation.recruiter_id = identity.panel, identity.person
    participation.recruiter_verified = participation.recruiter_verified or identity.verified
    if changed:
        if participation.panel_ended and participation.state == Participation.State.LEFT:
            participation.state, participation.finished_at = Participation.State.ACTIVE, None
        participation.recruiter_session = identity.submission
        participation.panel_status, participation.panel_status_at = "", None
    participation.save()
    if not changed:
        return
    early = PanelEvent.objects.filter(
        study=participation.study_id, subject=submission_digest(identity.submission), participation=None
    )
    for event in early.order_by("at", "id"):
        event.participation = participation
        event.outcome = event_apply(participation=participation, status=event.status, at=event.at)
        event.save(update_fields=["participation", "outcome"])
