"""Visitors who come from a recruitment panel: who their link says that they are, and the panel's webhooks."""

from __future__ import annotations

import hashlib
import logging
import time
from functools import cache

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotator.accounts.sessions import person_log_in
from annotator.core.errors import Refused
from annotator.models import Panel, PanelLinks, Study, User
from annotator.recruitment.identity import LinkRefused, PanelIdentity, PanelUnavailable
from annotator.recruitment.prolific import (
    LARGEST_BODY,
    TOKEN,
    WebhookRefused,
    plain_link_read,
    signed_link_read,
    webhook_read,
)
from annotator.recruitment.signing_keys import SigningKeys
from annotator.selectors.panel import panel_studies
from annotator.services.panel_events import panel_event_receive, panel_secret
from annotator.services.panel_join import panel_join, panel_person
from annotator.services.participation import annotator_create
from annotator.web.views.common import new_account_count

log = logging.getLogger(__name__)

SESSION = "panel_identity"
#: How long somebody can read the invitation, in seconds, although their link expires meanwhile.
READING = 3600


@cache
def signing_keys(url: str) -> SigningKeys:
    """The keys at this address, shared by the threads of this process."""
    return SigningKeys(url)


def panel_identity(request: HttpRequest, study: Study) -> PanelIdentity:
    """Who the study's panel says that the visitor is. Raises ``Refused`` (panel_needed, panel_link, panel_down); the log
    has the reason.
    """
    token = request.GET.get(TOKEN, "")
    signed = study.panel_links == PanelLinks.SIGNED
    if not token and (signed or "PROLIFIC_PID" not in request.GET):
        raise Refused("panel_needed", gettext("This study takes its participants from Prolific."))
    try:
        if not signed:
            return plain_link_read(request.GET.dict(), studies=panel_studies(study))
        return _kept(request, study, token) or _signed(request, study, token)
    except LinkRefused as refused:
        log.warning("a link from %s to the study %s was refused: %s", study.panel, study.slug, refused)
        raise Refused(
            "panel_link",
            gettext(
                "The link from Prolific is incomplete, has expired, or was already used in another browser."
            ),
        ) from None
    except PanelUnavailable as down:
        log.error("links from %s to the study %s can't be checked: %s", study.panel, study.slug, down)
        raise Refused("panel_down", gettext("Prolific's server didn't respond.")) from None


def _signed(request: HttpRequest, study: Study, token: str) -> PanelIdentity:
    identity = signed_link_read(
        token,
        keys=signing_keys(settings.PROLIFIC_KEYS_URL),
        issuer=settings.PROLIFIC_ISSUER,
        host=request.get_host(),
        path=request.path,
        studies=panel_studies(study),
    )
    expires = identity.expires_at.isoformat() if identity.expires_at else ""
    request.session[SESSION] = vars(identity) | {
        "study": study.pk,
        "at": time.time(),
        "expires_at": expires,
    }
    return identity


def _kept(request: HttpRequest, study: Study, token: str) -> PanelIdentity | None:
    """The identity that this browser's session has for the same link, if that was checked within ``READING``."""
    kept = dict(request.session.get(SESSION) or {})
    if not kept or kept.pop("study") != study.pk or time.time() - kept.pop("at") > READING:
        return None
    if kept["digest"] != hashlib.sha256(token.encode()).hexdigest():
        return None
    return PanelIdentity(**(kept | {"expires_at": parse_datetime(kept["expires_at"])}))


def join_from_panel(request: HttpRequest, study: Study, identity: PanelIdentity) -> None:
    """Join as the panel's participant, or come back as them, and log in as their account."""
    visitor = request.user if isinstance(request.user, User) else None
    user = panel_person(study=study, visitor=visitor, identity=identity)
    if user is None:
        new_account_count(request, study)
    with transaction.atomic():  # no account is left behind for someone who may not join
        user = user or annotator_create()
        panel_join(study=study, user=user, visitor=visitor, identity=identity)
    if user != visitor:
        person_log_in(request, user)
    request.session.pop(
        SESSION, None
    )  # from now on, the ids are only with the participation, where they can be erased


@csrf_exempt
@require_POST
def prolific_webhook(request: HttpRequest, token: str) -> HttpResponseBase:
    """Receive one of Prolific's webhooks; its signature takes the place of a login."""
    study = Study.objects.filter(join_token=token, deleted_at__isnull=True, panel=Panel.PROLIFIC).first()
    secret = panel_secret(study) if study is not None else ""
    if study is None or not secret:
        return JsonResponse({"error": "There is no study here that accepts webhooks."}, status=404)
    try:
        length = int(request.headers.get("Content-Length") or 0)
    except ValueError:
        length = 0
    if length > LARGEST_BODY:
        return JsonResponse({"error": f"The body has more than {LARGEST_BODY:,} bytes."}, status=413)
    try:
        event = webhook_read(
            headers=request.headers, body=request.read(LARGEST_BODY + 1), secret=secret, now=timezone.now()
        )
    except WebhookRefused as refused:
        log.warning("a webhook of the study %s was refused: %s", study.slug, refused)
        return JsonResponse({"error": str(refused)}, status=refused.status)
    row = panel_event_receive(study=study, event=event)
    return JsonResponse({"outcome": row.outcome if row is not None else "repeated"})
