"""The sidebar of the researchers' pages: the most used links come first."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

GROUPS = (
    (
        "",
        (
            ("Studies", "list_alt", "admin:annotator_study_changelist"),
            ("HIT types", "edit_note", "admin:annotator_declaredtype_changelist"),
            ("Questionnaires", "contact_support", "admin:annotator_declaredquestionnaire_changelist"),
            ("Messages", "forum", "admin:annotator_message_changelist"),
            ("Workspaces", "workspaces", "admin:annotator_workspace_changelist"),
        ),
    ),
    (
        "Models",
        (
            ("Runs", "play_circle", "admin:evaluation_run_changelist"),
            ("Pipelines", "account_tree", "admin:evaluation_pipeline_changelist"),
            ("Recipes", "menu_book", "admin:evaluation_recipe_changelist"),
            ("Endpoints", "hub", "admin:evaluation_endpoint_changelist"),
        ),
    ),
    (
        "Across studies",
        (
            ("Items", "description", "admin:annotator_item_changelist"),
            ("Judgments", "how_to_vote", "admin:annotator_judgment_changelist"),
            ("Exclusions", "block", "admin:annotator_exclusion_changelist"),
            ("Exports", "download", "admin:annotator_export_changelist"),
            ("Reports", "lab_profile", "admin:evaluation_report_changelist"),
            ("Participants", "groups", "admin:annotator_participation_changelist"),
            ("Raters", "person_search", "admin:annotator_rater_changelist"),
            ("Qualifications", "verified", "admin:annotator_qualification_changelist"),
            ("Exam questions", "quiz", "admin:annotator_examquestion_changelist"),
            ("Ledger", "payments", "admin:annotator_ledgerentry_changelist"),
        ),
    ),
    (
        "Installation",
        (
            ("Users", "key", "admin:annotator_user_changelist"),
            ("API", "code", "api:docs"),
            ("Two-factor login", "shield_lock", "mfa_index"),
            ("Your API tokens", "token", "admin:api_token"),
            ("Your emails", "mail", "admin:notices"),
        ),
    ),
)
#: Pages that only superusers may open.
SUPERUSER = {"admin:annotator_user_changelist"}
#: The link that is marked on every page of a study, also on those whose address isn't below the link's.
STUDIES = "admin:annotator_study_changelist"


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups, with the pages that exist and that this person may open."""
    groups = []
    for title, pages in GROUPS:
        items = []
        for label, icon, name in pages:
            if name in SUPERUSER and not request.user.is_superuser:
                continue
            try:
                link = reverse(name)
            except NoReverseMatch:
                continue
            item: dict[str, Any] = {"title": label, "icon": icon, "link": link}
            if name == STUDIES and _of_studies(request):
                item["active"] = True
            items.append(item)
        if items:
            groups.append({"title": title, "separator": bool(title), "items": items})
    return groups


def _of_studies(request: HttpRequest) -> bool:
    """Whether the page is one of a study's that another application than the admin serves: reports, plans, files."""
    match = getattr(request, "resolver_match", None)
    return match is not None and match.namespace == "evaluation"
