"""What researchers can do on pages, and the API's operation that does the same, or the reason why there is none."""

from __future__ import annotations

RUN, PIPELINE = "POST runs/{id}/{action}/", "POST pipelines/{id}/{action}/"
#: Action of a page -> the operations of the API that do the same.
SAME_IN_API: dict[str, tuple[str, ...]] = {
    "study:add": ("POST studies/",),
    "study:change": ("PATCH studies/{slug}/",),
    **{f"annotator_study_do:{name}": (f"POST studies/{{slug}}/{name}/",) for name in ("launch", "pause", "resume", "close", "reopen")},
    "annotator_study_import": ("POST studies/{slug}/material/",),
    "annotator_study_import_judgments": ("POST studies/{slug}/judgments/import/",),
    "study_import_upload": ("POST studies/{slug}/uploads/", "PUT studies/{slug}/uploads/pieces/"),
    "study_file_import": ("POST imports/{id}/cancel/",),
    "study_rehearsal": (
        "POST studies/{slug}/rehearsal/", "POST studies/{slug}/rehearsal/stop/", "DELETE studies/{slug}/rehearsal/",
    ),
    "study_payments": (
        "POST studies/{slug}/payments/", "POST studies/{slug}/payments/accept/", "POST studies/{slug}/payments/undo/",
    ),
    "study_pay_panel": ("POST studies/{slug}/payments/panel/", "POST studies/{slug}/payments/panel/settle/"),
    "study_top_up": ("POST studies/{slug}/payments/top-up/",),
    "study_bonus": ("POST studies/{slug}/payments/bonus/",),
    "study_messages": ("POST studies/{slug}/messages/", "POST studies/{slug}/messages/settle/"),
    "study_personal_links": (
        "POST studies/{slug}/personal-links/", "PATCH studies/{slug}/personal-links/{id}/", "DELETE studies/{slug}/personal-links/{id}/",
    ),
    "study_message_new": ("POST studies/{slug}/messages/new/",),
    "study_desk": (
        "POST studies/{slug}/review/", "POST studies/{slug}/review/undo/", "POST studies/{slug}/review/carry-out/",
        "POST studies/{slug}/exclusions/", "POST studies/{slug}/messages/new/",
    ),
    "study_images": ("POST studies/{slug}/images/",),
    "study_image_delete": ("DELETE studies/{slug}/images/{id}/",),
    "study_item_edit": ("PUT items/{id}/", "POST items/{id}/correct/"),
    "study_item_withdraw": ("POST items/{id}/withdraw/",),
    "study_item_delete": ("DELETE items/{id}/",),
    "study_adjudication_gold": ("POST studies/{slug}/adjudicated/",),
    "study_duplicate": ("POST studies/{slug}/duplicate/",),
    "study_newest_type": ("POST studies/{slug}/newest-type/",),
    "study_archive": ("POST studies/{slug}/archive/", "DELETE studies/{slug}/archive/"),
    "study_delete": ("POST studies/{slug}/delete/",),
    "studies_deleted": ("POST studies/{slug}/restore/",),
    "study_members": (
        "POST studies/{slug}/members/", "PATCH members/{id}/", "DELETE members/{id}/", "DELETE invitations/{id}/",
    ),
    "exclusion:change": ("PATCH exclusions/{id}/",),
    "study_lift": ("POST exclusions/{id}/lift/",),
    "study_collect": ("POST exclusions/{id}/collect/",),
    "exclusion:lift": ("POST exclusions/{id}/lift/",),
    **dict.fromkeys(("study_exclude_judgments", "study_exclude_rater", "study_exclude_item", "study_exclude_judgment", "exclusion:add", "judgment:leave_out"), ("POST studies/{slug}/exclusions/",)),
    "judgment:accept": ("POST studies/{slug}/payments/accept/",),
    "study_exports": ("POST studies/{slug}/exports/",),
    "declaredtype:add": ("POST hit-types/own/", "POST hit-types/check/"),
    "hit_type_copy": ("POST hit-types/{id}/copy/",),
    "hit_type_try": ("POST hit-types/try/",),
    "declaredquestionnaire:add": ("POST questionnaires/own/", "POST hit-types/check/"),
    "questionnaire_copy": ("POST questionnaires/{id}/copy/",),
    "run:add": ("POST studies/{slug}/runs/",),
    "evaluation_run_preview": ("GET runs/{id}/estimate/",),
    "evaluation_run_budget": ("PATCH runs/{id}/",),
    "call:retry": (RUN,),
    **{
        f"evaluation_run_do:{name}": (RUN,)
        for name in (
            "start", "pause", "resume", "cancel", "retry", "same-deployment", "give-up", "continue-without", "merge-simulators",
            "separate-simulators",
        )
    },
    "pipeline:add": ("POST datasets/", "POST pipelines/"),
    "evaluation_pipeline_budget": ("PATCH pipelines/{id}/",),
    **{
        f"evaluation_pipeline_do:{name}": (PIPELINE,)
        for name in ("pause", "resume", "cancel", "same-deployment", "same-deployment-cancel", "retry", "cancel-job", "give-up-job")
    },
    "plan": (
        "PUT studies/{study}/plan/", "POST studies/{study}/plan/seal/", "POST studies/{study}/plan/power/", "DELETE studies/{study}/plan/power/",
    ),
    "report:add": ("POST studies/{study}/reports/",),
    "reports": ("POST studies/{study}/reports/",),
    "report_retry": ("POST studies/{study}/reports/",),
    "report_delete": ("DELETE reports/{id}/",),
    "releases": ("POST reports/{id}/releases/", "POST reports/{id}/releases/cost/"),
    "release": ("POST releases/{id}/texts/",),
    "release_delete": ("DELETE releases/{id}/",),
    "study_keep": ("POST studies/{study}/keep/",),
    "kept_study_bring_back": ("POST kept-studies/{id}/bring-back/",),
    "kept_file_delete": ("DELETE kept-studies/{id}/file/",),
    "live_plan": ("POST studies/{study}/plan/so-far/",),
}  # fmt: skip

#: What only pages can do: the words of docs/api.md -> (why, the actions).
ONLY_ON_PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Set up an endpoint, try it, and delete it": (
        "An endpoint has a key, which should be entered once, in a browser, and not be in programs.",
        (
            "endpoint:add", "endpoint:change", "endpoint:delete", "evaluation_endpoint_try", "evaluation_endpoint_correct",
        ),
    ),
    "Set the secret of a panel's webhooks": (
        "A secret, as above. The panel itself and its study are settings of the study.",
        ("study_recruitment",),
    ),
    "Connect a panel, and create a study there": (
        "A token, as above; and a study there costs money, so a person sees the cost first. The other steps are in the API.",
        ("study_panel_new",),
    ),
    "Create API tokens": ("A token must not be able to make another one that outlives it.", ("api_token",)),
    "Choose emails": ("They are a person's own, not a study's.", ("notices",)),
    "Carry out or refuse a person's request to delete their data": (
        "It can't be undone, so a person looks at it first.",
        ("study_data_requests",),
    ),
    "Change exam and practice questions": (
        "Not yet.",
        ("study_exam", "study_question_new", "study_question", "study_questions_file"),
    ),
    "Translate a study's texts": ("Not yet.", ("study_translation", "study_translation_question")),
    "Grant and revoke qualifications": ("Not yet.", ("qualification:add", "qualification:change", "qualification:revoke")),
    "Create a workspace and change its members": ("Not yet.", ("workspace:add", "workspace_members")),
    "Estimate a pipeline before it starts": ("Not yet; a run's estimate is there.", ("evaluation_pipeline_preview",)),
    "Do one step of a pipeline again": ("Not yet.", ("evaluation_pipeline_again",)),
    "Try a prompt on an item before a run": ("Not yet.", ("evaluation_run_prompt",)),
}  # fmt: skip
