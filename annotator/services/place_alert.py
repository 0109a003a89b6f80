"""Requests to be told when a full study has places again, and the job that answers them."""

from __future__ import annotations

import logging
from datetime import timedelta
from smtplib import SMTPRecipientsRefused

from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.db import transaction
from django.utils import timezone
from django.utils.translation import get_language, gettext

from annotator.core.language import language_of_person
from annotator.models import PlaceAlert, Rater, Study
from annotator.selectors.places import places_of

log = logging.getLogger(__name__)
#: How long a place is reserved, in the count of free ones, for the person who was told about it.
MINUTES_TO_COME = 60
#: Open requests are deleted after this many days.
DAYS_KEPT = 60


def place_alert_make(*, study: Study, rater: Rater, url: str, email: str = "") -> PlaceAlert:
    """Ask to be told once when there are places again; asking again renews the request.

    Raises ``ValidationError`` for an invalid email address.
    """
    alert = PlaceAlert(study=study, rater=rater, url=url, email=email.strip())
    try:
        alert.clean_fields()
    except ValidationError as error:
        if "email" not in error.message_dict:
            raise
        raise ValidationError(
            {"email": gettext("Enter an email address like name@example.org, or leave the field empty.")}
        ) from None
    language = get_language() or ""
    fields = {"url": alert.url, "email": alert.email, "language": language, "told_at": None}
    return PlaceAlert.objects.update_or_create(study=study, rater=rater, defaults=fields)[0]


def place_alerts_sweep() -> int:
    """Tell people about free places, in the order in which they asked; returns how many were told.

    Tells as many people as there are places that nobody else was told about in the last hour. Safe to run at any time
    and twice, because each request is locked and marked separately.
    """
    now = timezone.now()
    PlaceAlert.objects.filter(asked_at__lt=now - timedelta(days=DAYS_KEPT)).delete()
    told = 0
    open_ = PlaceAlert.objects.filter(told_at=None, study__state=Study.State.LIVE, study__deleted_at=None)
    for study in Study.objects.filter(pk__in=open_.values("study_id")):
        expected = PlaceAlert.objects.filter(
            study=study, told_at__gt=now - timedelta(minutes=MINUTES_TO_COME)
        ).count()
        for _ in range(places_of(study).free - expected):
            if not _tell_next(study):
                break
            told += 1
    return told


@transaction.atomic
def _tell_next(study: Study) -> bool:
    """Tell the person who asked first; returns False if nobody is left."""
    waiting = PlaceAlert.objects.select_for_update(skip_locked=True).filter(study=study, told_at=None)
    alert = waiting.order_by("asked_at", "pk").first()
    if alert is None:
        return False
    if alert.email:
        _mail(alert, study)
    alert.told_at, alert.email = timezone.now(), ""
    alert.save(update_fields=["told_at", "email"])
    return True


def _mail(alert: PlaceAlert, study: Study) -> None:
    """Send the email. If it can't be delivered it isn't retried, because the person's own page says the same."""
    with language_of_person(chosen=alert.language, own=study.language):
        subject, text = _words(alert, study)
    try:
        send_mail(subject, text, None, [alert.email])
    except (OSError, SMTPRecipientsRefused) as error:
        log.warning(
            "the email about places of study %s could not be sent: %s", study.pk, type(error).__name__
        )


def _words(alert: PlaceAlert, study: Study) -> tuple[str, str]:
    """Subject and text of the email."""
    subject = gettext("Places are open again in {title}").format(title=study.title)
    text = gettext(
        "You asked to be told when the study “{title}” has places again. It has some now:\n\n{url}\n\n"
        "We've told other people too, so come soon if you can. We have deleted your email address and won't write again.\n"
    ).format(title=study.title, url=alert.url)
    return subject, text
