"""The researchers' REST API, under /api/v1/."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import SimpleRouter

from annotator.api import (
    adjudication,
    docs,
    file_imports,
    gallery,
    hit_types,
    images,
    imports,
    items,
    judgments,
    messages,
    own_questionnaires,
    panel,
    pay_batches,
    payments,
    people,
    personal_links,
    questionnaires,
    review,
    studies,
    study_life,
    written,
)
from annotator.api.schema_made import MadeSchema
from annotator.core import converters  # noqa: F401 - registers them

app_name = "api"


router = SimpleRouter()
router.register("studies", studies.Studies, basename="study")

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(generator_class=MadeSchema), name="schema"),
    path("docs/", docs.page, name="docs"),
    path("hit-types/", studies.HitTypes.as_view(), name="hit_types"),
    path("hit-types/own/", hit_types.DeclaredTypes.as_view(), name="declared_types"),
    path("hit-types/check/", hit_types.FileCheck.as_view(), name="declared_check"),
    path("hit-types/try/", gallery.GalleryTry.as_view(), name="gallery_try"),
    path("hit-types/<row:pk>/", hit_types.DeclaredTypeDetail.as_view(), name="declared_type"),
    path("hit-types/<row:pk>/versions/", hit_types.DeclaredVersions.as_view(), name="declared_versions"),
    path("hit-types/<row:pk>/copy/", hit_types.DeclaredTypeCopy.as_view(), name="declared_copy"),
    path("questionnaires/own/", own_questionnaires.OwnQuestionnaires.as_view(), name="own_questionnaires"),
    path(
        "questionnaires/<row:pk>/",
        own_questionnaires.OwnQuestionnaireDetail.as_view(),
        name="own_questionnaire",
    ),
    path(
        "questionnaires/<row:pk>/versions/",
        own_questionnaires.OwnQuestionnaireVersions.as_view(),
        name="own_questionnaire_versions",
    ),
    path(
        "questionnaires/<row:pk>/copy/",
        own_questionnaires.OwnQuestionnaireCopy.as_view(),
        name="own_questionnaire_copy",
    ),
    path("studies/<study:slug>/uploads/", file_imports.Uploads.as_view(), name="uploads"),
    path("studies/<study:slug>/uploads/pieces/", file_imports.UploadPieces.as_view(), name="upload_pieces"),
    path("imports/<row:pk>/", file_imports.FileImportDetail.as_view(), name="file_import"),
    path("imports/<row:pk>/cancel/", file_imports.FileImportCancel.as_view(), name="file_import_cancel"),
    path(
        "imports/<row:pk>/problems/", file_imports.FileImportProblems.as_view(), name="file_import_problems"
    ),
    path("studies/<study:slug>/images/", images.Images.as_view(), name="images"),
    path("studies/<study:slug>/images/<row:pk>/", images.ImageDetail.as_view(), name="image"),
    path("studies/<study:slug>/material/", imports.MaterialImport.as_view(), name="material_import"),
    path("studies/<study:slug>/judgments/", judgments.JudgmentList.as_view(), name="judgments"),
    path(
        "studies/<study:slug>/judgments/import/", imports.JudgmentsImport.as_view(), name="judgments_import"
    ),
    path(
        "studies/<study:slug>/judgments/export/", judgments.JudgmentsExport.as_view(), name="judgments_export"
    ),
    path("studies/<study:slug>/exclusions/", judgments.Exclusions.as_view(), name="exclusions"),
    path("studies/<study:slug>/exports/", judgments.Exports.as_view(), name="exports"),
    path("exclusions/<row:pk>/", judgments.ExclusionDetail.as_view(), name="exclusion"),
    path("exclusions/<row:pk>/collect/", judgments.ExclusionCollect.as_view(), name="exclusion_collect"),
    path("exclusions/<row:pk>/lift/", judgments.ExclusionLift.as_view(), name="exclusion_lift"),
    path("exports/<row:pk>/", judgments.ExportDetail.as_view(), name="export"),
    path("exports/<row:pk>/file/", judgments.ExportFile.as_view(), name="export_file"),
    path(
        "studies/<study:slug>/questionnaires/", questionnaires.Questionnaires.as_view(), name="questionnaires"
    ),
    path(
        "studies/<study:slug>/questionnaires/answers/",
        questionnaires.QuestionnaireAnswers.as_view(),
        name="questionnaire_answers",
    ),
    path("studies/<study:slug>/messages/", messages.Messages.as_view(), name="messages"),
    path("studies/<study:slug>/messages/settle/", messages.MessagesSettle.as_view(), name="messages_settle"),
    path("studies/<study:slug>/messages/new/", review.MessagesWrite.as_view(), name="messages_write"),
    path("studies/<study:slug>/review/", review.ReviewDesk.as_view(), name="review"),
    path("studies/<study:slug>/review/undo/", review.ReviewUndo.as_view(), name="review_undo"),
    path("studies/<study:slug>/review/carry-out/", review.ReviewCarryOut.as_view(), name="review_carry_out"),
    path("studies/<study:slug>/payments/", payments.Payments.as_view(), name="payments"),
    path("studies/<study:slug>/payments/accept/", payments.WorkAccept.as_view(), name="work_accept"),
    path("studies/<study:slug>/payments/undo/", payments.PaymentUndo.as_view(), name="payment_undo"),
    path("studies/<study:slug>/payments/bonus/", payments.Bonus.as_view(), name="bonus"),
    path("studies/<study:slug>/payments/panel/", pay_batches.PayPanel.as_view(), name="pay_panel"),
    path("studies/<study:slug>/payments/panel/settle/", pay_batches.PaySettle.as_view(), name="pay_settle"),
    path("studies/<study:slug>/payments/top-up/", pay_batches.TopUps.as_view(), name="top_up"),
    path(
        "studies/<study:slug>/personal-links/",
        personal_links.PersonalLinks.as_view(),
        name="personal_links",
    ),
    path(
        "studies/<study:slug>/personal-links/<row:pk>/",
        personal_links.PersonalLinkDetail.as_view(),
        name="personal_link",
    ),
    path("studies/<study:slug>/panel/", panel.PanelStudies.as_view(), name="panel_studies"),
    path("studies/<study:slug>/participants/", people.Participants.as_view(), name="participants"),
    path("studies/<study:slug>/members/", people.Members.as_view(), name="members"),
    path("members/<row:pk>/", people.Member.as_view(), name="member"),
    path("invitations/<row:pk>/", people.InvitationWithdraw.as_view(), name="invitation"),
    path("studies/<study:slug>/written-answers/", written.WrittenAnswers.as_view(), name="written_answers"),
    path("studies/<study:slug>/contested/", items.ContestedItems.as_view(), name="contested"),
    path(
        "studies/<study:slug>/adjudication/",
        adjudication.AdjudicationQueueView.as_view(),
        name="adjudication_queue",
    ),
    path("studies/<study:slug>/adjudicated/", adjudication.AdjudicatedItems.as_view(), name="adjudicated"),
    path("items/<row:pk>/adjudication/", adjudication.ItemAdjudication.as_view(), name="item_adjudication"),
    path("items/<row:pk>/", items.ItemDetail.as_view(), name="item"),
    path("items/<row:pk>/correct/", items.ItemCorrect.as_view(), name="item_correct"),
    path("items/<row:pk>/withdraw/", items.ItemWithdraw.as_view(), name="item_withdraw"),
    path("studies/<study:slug>/duplicate/", study_life.Duplicate.as_view(), name="duplicate"),
    path("studies/<study:slug>/archive/", study_life.StudyArchive.as_view(), name="archive"),
    path("studies/<study:slug>/delete/", study_life.Deletion.as_view(), name="delete"),
    path("studies/<study:slug>/restore/", study_life.Restoration.as_view(), name="restore"),
    path(
        "studies/<study:slug>/versions/compare/", study_life.VersionChanges.as_view(), name="versions_compare"
    ),
    path("studies/<study:slug>/rehearsal/", study_life.RehearsalDetail.as_view(), name="rehearsal"),
    path("studies/<study:slug>/rehearsal/stop/", study_life.RehearsalStop.as_view(), name="rehearsal_stop"),
    path("", include(router.urls)),
]
