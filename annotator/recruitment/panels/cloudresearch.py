"""CloudResearch Connect: unsigned links with Connect's own ids, and its address for people who have completed a project.

Connect adds ``participantId``, ``assignmentId`` and ``projectId`` to a project's link by itself. Source of the way back:
https://connect-researcher-help.cloudresearch.com/hc/en-us/articles/5046202939796-Project-Completion, which also says that the address for
completing must not be used for anybody else.
"""

from __future__ import annotations

from urllib.parse import quote

from annotator.recruitment.identity import PanelIdentity
from annotator.recruitment.panel import COMPLETED, CompletionCode, Panel


class CloudResearch(Panel):
    """Plain links; a redirect for people who have completed, and codes that everybody else enters on Connect."""

    name = "cloudresearch"
    title = "CloudResearch Connect"
    site = "https://connect.cloudresearch.com/participant/"
    person, submission, panel_study = "participantId", "assignmentId", "projectId"
    parameters = {name: f"{{{name}}}" for name in ("participantId", "assignmentId", "projectId")}
    adds_parameters = True
    hints = {
        "panel_links": "Connect doesn't sign its links.",
        "panel_study_ids": "Connect calls it the project's id: projectId on its links.",
        "completion_code": "The part of Connect's redirect URL between project/ and /complete.",
        "partly_code": "Connect takes codes of its own for partial completes; people enter this one there.",
    }

    def link_words(self, signed: bool) -> str:
        return "Enter this as the project's link on Connect. Connect adds its ids of the person, the assignment and the project."

    def return_url(self, ending: CompletionCode, *, code: str, identity: PanelIdentity) -> str:
        """Connect's redirect, for people who have completed the study. Everybody else goes to the site, where they enter their code."""
        if not code:
            return ""
        if ending != COMPLETED:
            return f"{self.site}dashboard"
        return f"{self.site}project/{quote(code, safe='')}/complete"
