"""A study that is connected to the small Prolific, and its participants on both sides."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from annotator.models import PanelConnection, PanelStudy, Participation, Study, User
from annotator.services.panel_connection import panel_connect
from annotator.services.panel_study import panel_study_create, panel_study_move
from tests.factories import make_participation, make_study
from tests.prolific_api import TOKEN, ProlificBooks

LINK = "https://lab.example/join/x/?PROLIFIC_PID={{%PROLIFIC_PID%}}"


def connected_study(researcher: User, **fields: Any) -> tuple[Study, PanelConnection]:
    """A live study of two items for two raters each, in a workspace that is connected."""
    about: dict[str, Any] = {
        "items": 2, "redundancy": 2, "launched": True, "by": researcher, "panel": "prolific", "panel_links": "plain",
        "currency": "GBP", "completion_code": "DONE", "nothing_left_code": "NONE", "pay_per_item": Decimal("0.50"),
    } | fields  # fmt: skip
    study = make_study(**about)
    assert study.workspace is not None
    return study, panel_connect(workspace=study.workspace, panel="prolific", token=TOKEN, by=researcher)


def values(**changes: Any) -> dict[str, Any]:
    """What the form for a new study gives."""
    return {
        "title": "Owls", "description": "Read and judge.", "minutes": 5, "reward": Decimal("1.00"), "places": 2,
        "devices": ["desktop", "tablet", "mobile"], "filters": "", "group": "", "keep_out": False,
        "action_completion_code": "review", "action_nothing_left_code": "return",
    } | changes  # fmt: skip


def created(study: Study, connection: PanelConnection, **changes: Any) -> PanelStudy:
    """The study at the panel, as a draft."""
    row = panel_study_create(
        study=study, connection=connection, values=values(**changes), link=LINK, by=connection.connected_by
    )
    study.refresh_from_db()
    return row


def published(study: Study, connection: PanelConnection, **changes: Any) -> PanelStudy:
    return panel_study_move(row=created(study, connection, **changes), transition="publish", by=None)


def arrives(books: ProlificBooks, row: PanelStudy, person: str) -> tuple[str, Participation]:
    """Somebody takes a place at the panel and joins here; their submission and participation."""
    submission = books.arrive(row.remote_id, person)
    return submission, joins(row.study, person, submission)


def joins(study: Study, person: str, submission: str) -> Participation:
    Study.objects.filter(pk=study.pk).update(panel="")  # joining by the panel's own links is tested with them
    found = make_participation(Study.objects.get(pk=study.pk))
    Study.objects.filter(pk=study.pk).update(panel="prolific")
    Participation.objects.filter(pk=found.pk).update(
        recruiter="prolific", recruiter_id=person, recruiter_session=submission, recruiter_verified=True
    )
    found.refresh_from_db()
    return found
