"""Addresses of a study's pages, below the study's own in the admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path

from annotator.admin.study_pages import (
    adjudications,
    audit,
    data_requests,
    desk,
    exam_questions,
    exams,
    exporting,
    file_imports,
    home,
    images,
    importing,
    inbox,
    item_changes,
    languages,
    live,
    manage,
    members,
    notices,
    panel_study,
    participants,
    pay_batches,
    payments,
    personal_links,
    questionnaires,
    raters,
    recruitment,
    rehearsals,
    rows,
    writing,
    written,
)
from annotator.core import converters  # noqa: F401 - registers them


def patterns(view: Callable[..., Any]) -> list[URLPattern]:
    """Every page of a study; ``view`` is the admin site's own wrapper, which requires a login."""
    one = "<row:pk>/"
    return [
        path(f"{one}import/sample.jsonl", view(importing.sample), name="study_import_sample"),
        path(f"{one}import/upload/", view(file_imports.upload), name="study_import_upload"),
        path(f"{one}imports/<row:import_pk>/", view(file_imports.file_import), name="study_file_import"),
        path(
            f"{one}imports/<row:import_pk>/problems.csv",
            view(file_imports.problems),
            name="study_file_import_problems",
        ),
        path(f"{one}import/", view(importing.material), name="annotator_study_import"),
        path(f"{one}import-judgments/", view(importing.judgments), name="annotator_study_import_judgments"),
        path(f"{one}live/", view(live.live), name="study_live"),
        path(f"{one}rehearsal/", view(rehearsals.rehearsal), name="study_rehearsal"),
        path(f"{one}payments/", view(payments.payments), name="study_payments"),
        path(f"{one}payments/owed.csv", view(payments.owed), name="study_owed"),
        path(f"{one}payments/panel.csv", view(payments.panel_payments), name="study_panel_payments"),
        path(f"{one}payments/panel/", view(pay_batches.pay_panel), name="study_pay_panel"),
        path(f"{one}payments/top-up/", view(pay_batches.top_up), name="study_top_up"),
        path(f"{one}payments/bonus/<row:rater_pk>/", view(payments.bonus), name="study_bonus"),
        path(f"{one}desk/", view(desk.desk), name="study_desk"),
        path(f"{one}messages/new/", view(writing.message_new), name="study_message_new"),
        path(f"{one}messages/", view(inbox.study_messages), name="study_messages"),
        path(f"{one}requests/", view(data_requests.data_requests), name="study_data_requests"),
        path(f"{one}exam/", view(exams.exam), name="study_exam"),
        path(f"{one}languages/", view(languages.languages), name="study_languages"),
        path(f"{one}languages/<slug:code>/", view(languages.translation), name="study_translation"),
        path(
            f"{one}languages/<slug:code>/<slug:which>/<path:key>/",
            view(languages.question),
            name="study_translation_question",
        ),
        path(f"{one}images/", view(images.images), name="study_images"),
        path(f"{one}images/items.csv", view(images.uses), name="study_image_uses"),
        path(f"{one}images/<row:image_pk>/delete/", view(images.delete), name="study_image_delete"),
        path(f"{one}items/", view(rows.items), name="study_items"),
        path(f"{one}items/<row:item_pk>/", view(rows.item), name="study_item"),
        path(f"{one}items/<row:item_pk>/edit/", view(item_changes.edit), name="study_item_edit"),
        path(f"{one}items/<row:item_pk>/withdraw/", view(item_changes.withdraw), name="study_item_withdraw"),
        path(f"{one}items/<row:item_pk>/delete/", view(item_changes.delete), name="study_item_delete"),
        path(f"{one}manage/", view(manage.manage), name="study_manage"),
        path(f"{one}duplicate/", view(manage.duplicate), name="study_duplicate"),
        path(f"{one}archive/", view(manage.archive), name="study_archive"),
        path(f"{one}newest-type/", view(manage.newest_type), name="study_newest_type"),
        path(f"{one}remove/", view(manage.delete), name="study_delete"),
        path(f"{one}audit/", view(audit.study_audit), name="study_audit"),
        path(f"{one}versions/", view(manage.versions), name="study_versions"),
        path(f"{one}simulators/", view(home.simulators), name="study_simulators"),
        path(f"{one}members/", view(members.members), name="study_members"),
        path(f"{one}adjudication/", view(adjudications.adjudication), name="study_adjudication"),
        path(f"{one}adjudication/gold/", view(adjudications.gold), name="study_adjudication_gold"),
        path(f"{one}contested/", view(raters.contested), name="study_contested"),
        path(f"{one}exam/<slug:which>/new/", view(exam_questions.question), name="study_question_new"),
        path(
            f"{one}exam/<slug:which>/file/", view(exam_questions.questions_file), name="study_questions_file"
        ),
        path(
            f"{one}exam/<slug:which>/sample.csv",
            view(exam_questions.questions_sample),
            name="study_questions_sample",
        ),
        path(
            f"{one}exam/<slug:which>/question/<path:key>/",
            view(exam_questions.question),
            name="study_question",
        ),
        path("deleted/", view(manage.deleted), name="studies_deleted"),
        path(f"{one}judgments/", view(rows.judgments), name="study_judgments"),
        path(f"{one}judgments/<row:judgment_pk>/", view(rows.judgment), name="study_judgment"),
        path(f"{one}participants/", view(participants.participants), name="study_participants"),
        path(f"{one}written/", view(written.written), name="study_written"),
        path(f"{one}questionnaires/", view(questionnaires.questionnaires), name="study_questionnaires"),
        path(
            f"{one}questionnaires/answers/", view(questionnaires.answers), name="study_questionnaire_answers"
        ),
        path(f"{one}recruitment/links/", view(personal_links.personal_links), name="study_personal_links"),
        path(
            f"{one}recruitment/links.csv",
            view(personal_links.personal_links_file),
            name="study_personal_links_file",
        ),
        path(f"{one}recruitment/new/", view(panel_study.panel_study_new), name="study_panel_new"),
        path(f"{one}recruitment/", view(recruitment.recruitment), name="study_recruitment"),
        path(f"{one}raters/", view(raters.raters), name="study_raters"),
        path(f"{one}exclusions/", view(rows.exclusions), name="study_exclusions"),
        path(f"{one}exclusions/<row:exclusion_pk>/lift/", view(rows.lift), name="study_lift"),
        path(f"{one}exclusions/<row:exclusion_pk>/collect/", view(rows.collect), name="study_collect"),
        path(f"{one}exclude/judgments/", view(rows.exclude_judgments), name="study_exclude_judgments"),
        *(
            path(
                f"{one}exclude/{what}/<row:target_pk>/",
                view(rows.exclude),
                {"what": what},
                name=f"study_exclude_{what}",
            )
            for what in ("rater", "item", "judgment")
        ),
        path(f"{one}exports/", view(exporting.exports), name="study_exports"),
        path(f"{one}exports/<row:export_pk>/", view(exporting.file), name="study_export_file"),
        path(f"{one}download/", view(exporting.download), name="study_download"),
        path("emails/", view(notices.notices), name="notices"),
        path("api-token/", view(exporting.token), name="api_token"),
    ]
