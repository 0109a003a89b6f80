"""Visitors who come from a recruitment panel: who their link says that they are, and the panel's webhooks."""

from __future__ import annotations

import logging
import time

from django.db import transaction
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotator.accounts.sessions import person_log_in
from annotator.models import PanelLinks, Study, User
from annotator.recruitment.identity import LinkRefused, PanelIdentity, PanelUnavailable
from annotator.recruitment.panel import OpenedLink, Panel
from annotator.recruitment.registry import panel_get
from annotator.recruitment.webhooks import WebhookRefused
from annotator.selectors.panel import panel_studies
from annotator.selectors.personal_links import personal_link_check
from annotator.services.panel_events import panel_event_receive, panel_secret
from annotator.services.panel_join import panel_join, panel_person
from annotator.services.participation import annotator_create
from annotator.web.views.common import new_account_count

log = logging.getLogger(__name__)

SESSION = "panel_identity"
#: The accounts of people who used this browser before, and can come back to it with a plain link.
PEOPLE = "panel_people"
#: How long somebody can read the invitation, in seconds, although their link expires meanwhile.
READING = 3600


def panel_identity(request: HttpRequest, study: Study, panel: Panel) -> PanelIdentity:
    """Who the study's panel says that the visitor is. Raises ``Refused`` (panel_needed, panel_link, panel_down); the log
    has the reason.
    """
    link = OpenedLink(
        parameters=request.GET.dict(),
        host=request.get_host(),
        path=request.path,
        studies=panel_studies(study),
        signed=study.panel_links == PanelLinks.SIGNED,
        secret=panel_secret(study) if panel.shared_secret else "",
    )
    if not panel.is_link(link):
        raise panel.refused("panel_needed")
    try:
        identity = _kept(request, study, panel.digest(link)) or _checked(request, study, panel.identify(link))
        if panel.listed:
            personal_link_check(study=study, person=identity.person, link=identity.submission)
        return identity
    except LinkRefused as refused:
        log.warning("a link from %s to the study %s was refused: %s", study.panel, study.slug, refused)
        raise panel.refused("panel_link", refused.told) from None
    except PanelUnavailable as down:
        log.error("links from %s to the study %s can't be checked: %s", study.panel, study.slug, down)
        raise panel.refused("panel_down") from None


def _checked(request: HttpRequest, study: Study, identity: PanelIdentity) -> PanelIdentity:
    """The identity; that of a signed link is kept in the browser's session."""
    if identity.expires_at is not None:
        expires = {"expires_at": identity.expires_at.isoformat()}
        request.session[SESSION] = vars(identity) | {"study": study.pk, "at": time.time()} | expires
    return identity


def _kept(request: HttpRequest, study: Study, digest: str) -> PanelIdentity | None:
    """The identity that this browser's session has for the same link, if that was checked within ``READING``."""
    kept = dict(request.session.get(SESSION) or {})
    if not kept or kept.pop("study") != study.pk or time.time() - kept.pop("at") > READING:
        return None
    if kept["digest"] != digest:
        return None
    return PanelIdentity(**(kept | {"expires_at": parse_datetime(kept["expires_at"])}))


def panel_account(
    request: HttpRequest, study: Study, identity: PanelIdentity, *, same: bool = False
) -> User | None:
    """The account with which the visitor joins or comes back; see ``panel_person``."""
    visitor = request.user if isinstance(request.user, User) else None
    here = request.session.get(PEOPLE, [])
    return panel_person(study=study, visitor=visitor, identity=identity, here=here, same=same)


def join_from_panel(
    request: HttpRequest, study: Study, identity: PanelIdentity, *, same: bool = False
) -> None:
    """Join as the panel's participant, or come back as them, and log in as their account."""
    visitor = request.user if isinstance(request.user, User) else None
    user = panel_account(request, study, identity, same=same)
    if user is None:
        new_account_count(request, study)
    with transaction.atomic():  # no account is left behind for someone who may not join
        user = user or annotator_create()
        panel_join(study=study, user=user, visitor=visitor, identity=identity)
    if user != visitor:
        here = {
            *request.session.get(PEOPLE, []),
            *([visitor.pk] if visitor and not visitor.has_usable_password() else []),
        }
        person_log_in(request, user)
        request.session[PEOPLE] = sorted(here)
    request.session.pop(
        SESSION, None
    )  # from now on, the ids are only with the participation, where they can be erased


@csrf_exempt
@require_POST
def panel_webhook(request: HttpRequest, panel: str, token: str) -> HttpResponseBase:
    """Receive one of a panel's webhooks; its signature takes the place of a login."""
    study = Study.objects.filter(join_token=token, deleted_at__isnull=True, panel=panel).first()
    secret = panel_secret(study) if study is not None else ""
    sender = panel_get(panel)
    if study is None or sender is None or not secret:
        return JsonResponse({"error": "There is no study here that accepts webhooks."}, status=404)
    try:
        length = int(request.headers.get("Content-Length") or 0)
    except ValueError:
        length = 0
    try:
        # The length may be missing or wrong.
        body = b"" if length > sender.largest_webhook else request.read(sender.largest_webhook + 1)
        if max(length, len(body)) > sender.largest_webhook:
            raise WebhookRefused(f"The body has more than {sender.largest_webhook:,} bytes.", status=413)
        event = sender.webhook_read(headers=request.headers, body=body, secret=secret, now=timezone.now())
    except WebhookRefused as refused:
        log.warning("a webhook of the study %s was refused: %s", study.slug, refused)
        return JsonResponse({"error": str(refused)}, status=refused.status)
    row = panel_event_receive(study=study, event=event)
    return JsonResponse({"outcome": row.outcome if row is not None else "repeated"})
