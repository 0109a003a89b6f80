"""Limits on joining, on open tasks and on unfinished tasks, which keep one visitor from taking places that others need.

All raise ``Refused`` in words for annotators. New accounts are also counted by network address, where they're made
(``annotator.accounts.attempts``); how often a task gets more time is part of its lease (``annotator.services.assignment``).
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext

from annotator.core.errors import Refused
from annotator.models import Assignment, Participation, Rater, Study


def refuse_too_many_joins(*, study: Study, rater: Rater) -> None:
    """Count under locks, so that people who join at the same moment are all counted; the rater's lock is taken first."""
    Rater.objects.select_for_update(no_key=True).get(pk=rater.pk)
    now = timezone.now()
    today = Participation.objects.filter(rater=rater, joined_at__gt=now - timedelta(days=1))
    if today.count() >= settings.JOINS_PER_ACCOUNT:
        raise Refused(
            "too_many_studies",
            gettext("You've reached the limit of studies that one person can join in a day."),
        )
    if study.joins_per_hour is not None:
        Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)
        recent = Participation.objects.filter(
            study=study, joined_at__gt=now - timedelta(hours=1), rater__rehearsal=False
        )
        if recent.count() >= study.joins_per_hour:
            raise Refused(
                "too_many",
                gettext(
                    "This study has reached its limit of new participants for this hour. Try again later."
                ),
            )


def refuse_second_task_of_guest(*, participation: Participation) -> None:
    """Raise ``Refused`` (elsewhere) if a guest got no task because they have one open in another study; see
    ``Assignment.sole``."""
    if participation.recruiter_verified:
        return
    held = (
        Assignment.objects.select_related("participation__study")
        .filter(rater_id=participation.rater_id, state=Assignment.State.LEASED, sole=True)
        .exclude(participation_id=participation.pk)
        .first()
    )
    if held is not None:
        other = held.participation.study
        raise Refused(
            "elsewhere",
            gettext(
                "You have a task open in the study “{title}”. Without an account, you can have one task open at a time."
            ).format(title=other.title),
            slug=other.slug,
        )


def refuse_after_many_unfinished(*, participation: Participation, study: Study) -> None:
    """Raise ``Refused`` (wait) if the person got no task because they have skipped many or let them run out."""
    most = study.unfinished_per_hour
    if most is None:
        return
    recent = participation.assignments.filter(
        state__in=[Assignment.State.EXPIRED, Assignment.State.RETURNED],
        closed_at__gt=timezone.now() - timedelta(hours=1),
    )
    if recent.count() >= most:
        raise Refused(
            "wait",
            gettext(
                "You've skipped or not finished {count} tasks in the last hour, which is the most this study allows."
            ).format(count=most),
        )
