"""The researchers' REST API, under /api/v1/."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import SimpleRouter

from annotator.api import docs, file_imports, images, imports, judgments, studies
from annotator.core import converters  # noqa: F401 - registers them

app_name = "api"


router = SimpleRouter()
router.register("studies", studies.Studies, basename="study")

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", docs.page, name="docs"),
    path("hit-types/", studies.HitTypes.as_view(), name="hit_types"),
    path("studies/<study:slug>/uploads/", file_imports.Uploads.as_view(), name="uploads"),
    path("studies/<study:slug>/uploads/pieces/", file_imports.UploadPieces.as_view(), name="upload_pieces"),
    path("imports/<row:pk>/", file_imports.FileImportDetail.as_view(), name="file_import"),
    path("imports/<row:pk>/cancel/", file_imports.FileImportCancel.as_view(), name="file_import_cancel"),
    path(
        "imports/<row:pk>/problems/", file_imports.FileImportProblems.as_view(), name="file_import_problems"
    ),
    path("studies/<study:slug>/images/", images.Images.as_view(), name="images"),
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
    path("exclusions/<row:pk>/lift/", judgments.ExclusionLift.as_view(), name="exclusion_lift"),
    path("exports/<row:pk>/", judgments.ExportDetail.as_view(), name="export"),
    path("exports/<row:pk>/file/", judgments.ExportFile.as_view(), name="export_file"),
    path("", include(router.urls)),
]
