"""The report on studies that were imported from a release, compared with the released one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from annotator.models import Study, User
from evaluation.models import Report
from evaluation.releases.archive import ArchiveError
from evaluation.releases.contents import without_links
from evaluation.releases.reading import Archive
from evaluation.releases.reproduce import choices_of
from evaluation.releases.reproduction import Reproduction, reproduction
from evaluation.services.report import report_compute, report_create


def imported_report(*, studies: Sequence[Study], release: Archive, user: User) -> tuple[Report, Reproduction]:
    """Compute and store the report that a release is of, on its imported studies, and compare the two.

    Raises ``ArchiveError`` if it asks for choices that this version doesn't have, or can't be computed.
    """
    choices = choices_of(release.manifest, ())
    report = report_create(
        study=studies[0], others=studies[1:], choices=choices.to_json(), user=user, send=False
    )
    report_compute(report_pk=report.pk)
    report.refresh_from_db()
    if report.content is None:
        raise ArchiveError(f"the report can't be computed: {report.error}")
    return report, reproduction(_sorted(release.report), _sorted(without_links(report.content)))


def _sorted(content: dict[str, Any]) -> dict[str, Any]:
    """The content with all names in one order: Postgres doesn't keep that of stored objects."""
    return dict(json.loads(json.dumps(content, sort_keys=True)))
