"""Celery tasks. Each takes ids, calls one service, and may run at any time, twice, or late."""

from __future__ import annotations

from typing import Any

from annotator.accounts.activity import sessions_sweep
from annotator.accounts.attempts import attempts_sweep
from annotator.core.jobs import job
from annotator.core.kept_figures import StudyCount

# Imported for the figures that they declare.
from annotator.models import Export, FileImport, Study
from annotator.selectors import (  # noqa: F401
    adjudication,
    contested,
    evidence,
    exam,
    home,
    judgment,
    live,
    owed,
    rehearsal,
    review_desk,
    study_rows,
    versions,
)
from annotator.services.assignment import leases_expire
from annotator.services.collect_again import collect_again_sweep
from annotator.services.erasure import retention_sweep
from annotator.services.exports import export_build, exports_sweep
from annotator.services.images import images_sweep
from annotator.services.imports.file_imports import file_import_run, file_imports_sweep
from annotator.services.imports.pending_uploads import pending_uploads_sweep
from annotator.services.left_over_places import left_over_places_free
from annotator.services.notices import notices_sweep
from annotator.services.panel_events import panel_sweep
from annotator.services.panel_reconcile import panel_reconcile_sweep
from annotator.services.pay_batch import pay_batches_sweep
from annotator.services.place_alert import place_alerts_sweep
from annotator.services.rehearsal.run import rehearsal_run, rehearsals_sweep
from annotator.services.review_desk import decisions_carry_out, decisions_sweep
from annotator.services.study_removal import studies_purge
from annotator.services.turns import Work, in_turn, rows_take_turns

rows_take_turns(
    "annotator.export_build",
    "export_pk",
    Export.objects.filter(state=Export.State.QUEUED),
    workspace="study__workspace",
    lock="export",
    carry_out=lambda pk: export_build(export_pk=pk),
)
rows_take_turns(
    "annotator.file_import_run",
    "file_import_pk",
    FileImport.objects.filter(state=FileImport.State.QUEUED),
    workspace="study__workspace",
    lock="file import",
    carry_out=lambda pk: file_import_run(file_import_pk=pk),
)


@job("annotator.leases_expire")
def leases_expire_task() -> int:
    """Release the places of expired leases."""
    return leases_expire()


@job("annotator.left_over_places_free")
def left_over_places_free_task() -> int:
    """Offer first what people have left of the explanations that they began."""
    return left_over_places_free()


@job("annotator.collect_again_sweep")
def collect_again_sweep_task() -> int:
    """Open places for what excluded people have submitted since."""
    return collect_again_sweep()


@job("annotator.figures_renew")
def figures_renew_task(*, figures: str, values: Any) -> None:
    """Count kept figures of a large study again; those that this version doesn't know any more are forgotten."""
    counted = StudyCount.declared.get(figures)
    if counted is not None:
        counted.renew(values)


@job("annotator.export_build")
def export_build_task(*, export_pk: int) -> Any:
    """Build an export."""
    return in_turn(Work("annotator.export_build", export_pk))


@job("annotator.exports_sweep")
def exports_sweep_task() -> int:
    """Queue exports again that were never built, and remove old files."""
    return exports_sweep()


@job("annotator.rehearsal_run")
def rehearsal_run_task(*, rehearsal_pk: int) -> int:
    """Carry out a rehearsal."""
    return rehearsal_run(rehearsal_pk=rehearsal_pk)


@job("annotator.rehearsals_sweep")
def rehearsals_sweep_task() -> int:
    """Queue rehearsals again that no worker is running."""
    return rehearsals_sweep()


@job("annotator.studies_purge")
def studies_purge_task() -> int:
    """Remove deleted studies for good once they can no longer be restored."""
    return studies_purge()


@job("annotator.retention_sweep")
def retention_sweep_task() -> int:
    """Anonymise participants of studies whose retention period is over."""
    return retention_sweep()


@job("annotator.file_import_run")
def file_import_run_task(*, file_import_pk: int) -> Any:
    """Import a large file."""
    return in_turn(Work("annotator.file_import_run", file_import_pk))


@job("annotator.file_imports_sweep")
def file_imports_sweep_task() -> int:
    """Queue imports again that no worker carries out, and remove old lists of problems."""
    return file_imports_sweep()


@job("annotator.uploads_sweep")
def uploads_sweep_task() -> int:
    """Remove uploaded files whose import was never confirmed, and images that no study shows."""
    return pending_uploads_sweep() + images_sweep()


@job("annotator.attempts_sweep")
def attempts_sweep_task() -> int:
    """Delete login attempts that are too old for any limit, and sessions that have expired."""
    return attempts_sweep() + sessions_sweep()


@job("annotator.place_alerts_sweep")
def place_alerts_sweep_task() -> int:
    """Tell people who asked for it that a study has places again."""
    return place_alerts_sweep()


@job("annotator.notices_sweep")
def notices_sweep_task() -> int:
    """Send researchers the news that they asked for."""
    return notices_sweep()


@job("annotator.panel_sweep")
def panel_sweep_task() -> int:
    """Delete expired links of recruitment panels, and old events about nobody in their study."""
    return panel_sweep()


@job("annotator.panel_reconcile_sweep")
def panel_reconcile_sweep_task() -> int:
    """Compare submissions with the panels' APIs, and let places follow the work."""
    return panel_reconcile_sweep()


@job("annotator.pay_batches_sweep")
def pay_batches_sweep_task() -> int:
    """Continue payments through panels that a failure has interrupted."""
    return pay_batches_sweep()


@job("annotator.review_decisions_carry_out")
def review_decisions_carry_out_task(*, study_pk: int) -> int:
    """Carry out a study's decisions that are due."""
    study = Study.objects.filter(pk=study_pk, deleted_at__isnull=True).first()
    return decisions_carry_out(study=study) if study else 0


@job("annotator.review_decisions_sweep")
def review_decisions_sweep_task() -> int:
    """Carry out the decisions of every review desk that are due."""
    return decisions_sweep()
