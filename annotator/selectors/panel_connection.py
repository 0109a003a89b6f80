"""Who may use a workspace's connection to a panel, and the panel's studies that recruit for one of ours."""

from __future__ import annotations

from typing import Any

from annotator.models import Membership, PanelConnection, PanelStudy, Study
from annotator.recruitment.api import ENDED
from annotator.selectors.workspace import workspaces_for


def connection_of(study: Study) -> PanelConnection | None:
    """The connection of a study's workspace to its panel; None if there is none."""
    if study.workspace_id is None or not study.panel:
        return None
    return (
        PanelConnection.objects.select_related("workspace", "connected_by")
        .filter(workspace=study.workspace_id, panel=study.panel)
        .first()
    )


def may_spend(*, user: Any, study: Study) -> bool:
    """Whether a researcher may use the workspace's account at the panel: an editor of the workspace, not only of a study that is
    shared with them."""
    if study.workspace_id is None:
        return False
    return workspaces_for(user=user, role=Membership.Role.EDITOR).filter(pk=study.workspace_id).exists()


def panel_study_rows(study: Study) -> list[PanelStudy]:
    """The panel's studies that recruit for this one and that we know through its API, newest first."""
    return list(study.panel_study_rows.filter(panel=study.panel).select_related("created_by"))


def current_of(rows: list[PanelStudy]) -> PanelStudy | None:
    """The panel's study that takes people next: the newest that hasn't ended, else the newest."""
    return next((row for row in rows if row.state != ENDED), rows[0] if rows else None)
