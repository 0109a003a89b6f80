"""Compare submissions with the panel: what no webhook told us is applied, and places follow the work."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotator.core.jobs import lock_held
from annotator.models import PanelEvent, PanelStudy, Participation, Study
from annotator.recruitment.api import DRAFT, ENDED, LIVE, PAUSE, PAUSED, RESUME, STOP, RemoteSubmission
from annotator.recruitment.panel import EXITS
from annotator.recruitment.registry import panel_get
from annotator.recruitment.webhooks import SUBMISSION_CHANGED
from annotator.selectors.panel import panel_studies
from annotator.selectors.panel_connection import connection_of
from annotator.selectors.panel_plan import people_needed, places_taken, places_wanted
from annotator.services.panel_events import event_apply, submission_digest
from annotator.services.panel_study import (
    only_there_at_work,
    panel_draft_lower,
    panel_errors,
    panel_study_move,
    panel_study_places_set,
    panel_study_refresh,
)

log = logging.getLogger(__name__)

#: The beginning of the ids of events that a comparison found.
FOUND = "compared:"
#: Statuses of submissions that can still change by themselves.
OPEN = ("RESERVED", "ACTIVE", "AWAITING REVIEW")
#: As many submissions that only one side knows are kept for the page.
MOST_LISTED = 200


def panel_reconcile(*, row: PanelStudy) -> int:
    """Ask the panel for the state of its study and of all submissions; returns how many participations changed. Raises
    ``ValidationError``.

    A submission's status is taken as of the moment before the question, so that a webhook about something later is never undone.
    """
    row = panel_study_refresh(row=row)
    connection = connection_of(row.study)
    if connection is None:
        raise ValidationError("The workspace isn't connected to the panel. Connect it first.")
    asked = timezone.now()
    with panel_errors(connection) as api:
        submissions = api.submissions(row.remote_id)
    here = dict(
        row.study.participations.filter(recruiter=row.panel, rater__rehearsal=False)
        .exclude(recruiter_session="")
        .values_list("recruiter_session", "panel_status")
    )
    changed = sum(
        _apply(row.study, submission, asked)
        for submission in submissions
        if submission.id in here and here[submission.id] != submission.status
    )
    row.counts = dict(Counter(submission.status for submission in submissions))
    fields = {getattr(row.study, code.field): code.field for code in EXITS if getattr(row.study, code.field)}
    row.exits = dict(
        Counter(fields[submission.code] for submission in submissions if submission.code in fields)
    )
    # Enough of an id to find the submission in the panel's list, too little to look anybody up who was erased here.
    row.only_there = [
        {"end": submission.id[-6:], "status": submission.status, "started": submission.started_at.isoformat() if submission.started_at else ""}
        for submission in submissions if submission.id not in here and submission.status != "RESERVED"
    ][:MOST_LISTED]  # fmt: skip
    row.only_here = _only_here(row, {submission.id for submission in submissions})
    row.save(update_fields=["counts", "exits", "only_there", "only_here"])
    return changed


def _apply(study: Study, submission: RemoteSubmission, asked: datetime) -> bool:
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)  # first, as a webhook does
        found = (
            Participation.objects.select_for_update(of=("self",))
            .filter(study=study, recruiter=study.panel, recruiter_session=submission.id)
            .first()
        )
        if found is None or found.panel_status == submission.status:
            return False
        if submission.person not in ("", found.recruiter_id):
            log.warning("a submission of %s belongs to another participant on the panel", study.slug)
            return False
        outcome = event_apply(participation=found, status=submission.status, at=asked)
        key = f"{FOUND}{submission_digest(submission.id)[:40]}:{asked.isoformat()}"
        PanelEvent.objects.create(
            study=study, event_id=key, signature_digest=submission_digest(key), kind=SUBMISSION_CHANGED,
            subject=submission_digest(submission.id), status=submission.status, at=asked, participation=found, outcome=outcome,
        )  # fmt: skip
        return outcome != PanelEvent.Outcome.OLDER


def _only_here(row: PanelStudy, there: set[str]) -> list[int]:
    """The participations whose submission the panel's study doesn't have."""
    panel = panel_get(row.panel)
    mine = row.study.participations.filter(recruiter=row.panel, rater__rehearsal=False).exclude(
        recruiter_session=""
    )
    if panel is not None and len(panel_studies(row.study)) > 1:
        mine = mine.filter(**{f"join_parameters__{panel.panel_study}": row.remote_id})
    return list(
        mine.exclude(recruiter_session__in=there).order_by("pk").values_list("pk", flat=True)[:MOST_LISTED]
    )


def panel_work_follow(*, row: PanelStudy) -> str:
    """Let the panel's study follow the work, if its researchers want that: lower the places of a draft when less is left to do; stop a
    published study when every place is answered, pause it while enough people are at work, resume and enlarge it when people are missing.
    Returns what was done, for the log. Raises ``ValidationError``."""
    if row.follows_work and row.state == DRAFT and row.study.state == Study.State.LIVE:
        before = row.remote.get("places")
        row = panel_draft_lower(row=row, by=None)
        return f"{row.remote.get('places')} places" if row.remote.get("places") != before else ""
    if not row.follows_work or row.study.state != Study.State.LIVE or row.state not in (LIVE, PAUSED, ENDED):
        return ""
    needed = people_needed(row.study, only_there=only_there_at_work(row))
    there = int(row.remote.get("places") or 0)
    if needed.complete:
        if row.state == ENDED:
            return ""
        panel_study_move(row=row, transition=STOP, by=None)
        return "stopped"
    wanted = min(places_wanted(row, needed), row.most_places or 0)
    done = []
    if needed.people and wanted > there:
        row = panel_study_places_set(row=row, places=wanted, by=None)
        done.append(f"{wanted} places")
    if needed.people and row.state == PAUSED and row.paused_by_sweep:
        row = panel_study_move(row=row, transition=RESUME, by=None)
        done.append("resumed")
    elif not needed.people and row.state == LIVE and places_taken(row.counts) < there:
        row = panel_study_move(row=row, transition=PAUSE, by=None)
        PanelStudy.objects.filter(pk=row.pk).update(paused_by_sweep=True)
        done.append("paused")
    return ", ".join(done)


def panel_reconcile_sweep() -> int:
    """Compare every panel's study that isn't over, and let those follow the work whose researchers want that; returns how many were
    compared. One that fails doesn't keep others from their turn."""
    compared = 0
    open_still = Q(state__in=[DRAFT, LIVE, PAUSED]) | Q(counts__has_any_keys=list(OPEN)) | Q(checked_at=None)
    rows = PanelStudy.objects.filter(
        open_still, study__deleted_at__isnull=True, study__archived_at__isnull=True
    )
    for pk in rows.order_by("checked_at", "pk").values_list("pk", flat=True):
        with lock_held("panel study", pk) as mine:
            if not mine:
                continue
            row = PanelStudy.objects.select_related("study").get(pk=pk)
            connection = connection_of(row.study)
            if connection is None or connection.fault:
                continue
            try:
                changed = panel_reconcile(row=row)
                done = panel_work_follow(row=row)
            except ValidationError as error:
                log.warning(
                    "the study %s could not be compared with the panel: %s",
                    row.study.slug,
                    " ".join(error.messages),
                )
                continue
            compared += 1
            if changed or done:
                log.info(
                    "%s on the panel: %d submissions changed; %s",
                    row.study.slug,
                    changed,
                    done or "nothing done",
                )
    return compared
