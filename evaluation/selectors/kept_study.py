"""Studies that are kept in files, and the jobs about them: for owners of the workspace alone, because a file holds people's data."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from django.core.files.storage import default_storage
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404

from annotator.models import Membership, Study
from annotator.selectors.study import study_get_for
from annotator.selectors.workspace import workspaces_for
from evaluation.models import KeptJob, KeptStudy

log = logging.getLogger(__name__)
OWNER = Membership.Role.OWNER


def _owned(user: Any) -> QuerySet[Any]:
    return workspaces_for(user=user, role=OWNER).values("pk")


def kept_studies_for(*, user: Any) -> QuerySet[KeptStudy]:
    """Studies that are in files now, of the workspaces that the researcher owns, newest first."""
    found = KeptStudy.objects.filter(workspace__in=_owned(user), brought_back_at__isnull=True)
    return found.select_related("workspace", "kept_by").order_by("-id")


def kept_study_get_for(*, user: Any, pk: int) -> KeptStudy:
    """A study that is in a file, of a workspace that the researcher owns; anything else is not found, and logged."""
    found = kept_studies_for(user=user).filter(pk=pk).first()
    if found is None:
        log.warning("kept study %s: access denied to user %s", pk, user.pk)
        raise Http404("no such kept study")
    return found


def kept_studies_back_for(*, user: Any) -> QuerySet[KeptStudy]:
    """Studies of the workspaces that the researcher owns that are back, and whose file the installation still has, newest first."""
    found = KeptStudy.objects.filter(workspace__in=_owned(user), brought_back_at__isnull=False)
    return found.exclude(file="").select_related("workspace").order_by("-id")


def kept_study_back_get_for(*, user: Any, pk: int) -> KeptStudy:
    """A study that is back and whose file is still here, of a workspace that the researcher owns; anything else is not found, and logged."""
    found = kept_studies_back_for(user=user).filter(pk=pk).first()
    if found is None:
        log.warning("file of kept study %s: access denied to user %s", pk, user.pk)
        raise Http404("no such file")
    return found


def kept_file_there(kept: KeptStudy) -> bool:
    """Whether the installation has a copy of the study's file."""
    return bool(kept.file) and default_storage.exists(kept.file)


def kept_jobs_failed_for(*, user: Any, since: datetime) -> QuerySet[KeptJob]:
    """Jobs that failed since then, apart from those after which another one about the same study was done; newest first."""
    later = KeptJob.objects.filter(study=OuterRef("study"), pk__gt=OuterRef("pk"), state=KeptJob.State.DONE)
    found = kept_jobs_for(user=user).filter(state=KeptJob.State.FAILED, finished_at__gt=since)
    return found.exclude(Exists(later))


def kept_jobs_for(*, user: Any) -> QuerySet[KeptJob]:
    """Jobs about studies of the workspaces that the researcher owns, newest first."""
    found = KeptJob.objects.filter(workspace__in=_owned(user))
    return found.select_related("workspace", "kept", "created_by").order_by("-id")


def kept_job_get_for(*, user: Any, pk: int) -> KeptJob:
    """A job of a workspace that the researcher owns; anything else is not found, and logged."""
    found = kept_jobs_for(user=user).filter(pk=pk).first()
    if found is None:
        log.warning("job %s on a kept study: access denied to user %s", pk, user.pk)
        raise Http404("no such job")
    return found


def keepable_study_get_for(*, user: Any, pk: int | str) -> Study:
    """A study of a workspace that the researcher owns; anything else is not found."""
    study = study_get_for(user=user, pk=pk, role=OWNER)
    if not may_keep(user=user, study=study):
        log.warning("study %s: keeping it in a file denied to user %s", study.pk, user.pk)
        raise Http404("no such study")
    return study


def may_keep(*, user: Any, study: Study) -> bool:
    """Whether the researcher owns the study's workspace."""
    owned = workspaces_for(user=user, role=OWNER)
    return study.workspace is not None and owned.filter(pk=study.workspace.pk).exists()
