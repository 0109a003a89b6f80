"""Studies at a panel, for the walk through every page: one that is published there, and one that isn't there yet."""

from __future__ import annotations

from annotator.models import Study, User
from tests.annotator.services.panel_people import connected_study, published
from tests.factories import make_study
from tests.prolific_api import prolific_api


def panel_studies(researcher: User) -> dict[str, Study]:
    """The panel isn't there any more when the pages are opened: they show what is known, and ask it nothing."""
    with prolific_api():
        at_panel, connection = connected_study(researcher, slug="at-panel")
        published(at_panel, connection)
    before = make_study(
        by=researcher, slug="before-panel", panel="prolific", items=2, completion_code="DONE", workspace=at_panel.workspace
    )  # fmt: skip
    return {"at_panel": at_panel, "before_panel": before}
