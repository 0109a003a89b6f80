"""Studies in files over the REST API: the same services and the same access as the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.core.downloads import download_send
from annotator.core.known_keys import KnownKeysSerializer
from annotator.selectors.user import user_of
from evaluation.models import KeptJob, KeptStudy
from evaluation.moves.kept_files import kept_file_delete, kept_study_download
from evaluation.moves.kept_jobs import bring_back_request, keep_request
from evaluation.selectors.kept_study import (
    keepable_study_get_for,
    kept_job_get_for,
    kept_studies_for,
    kept_study_back_get_for,
    kept_study_get_for,
)

MOST = 1_000


class KeepSerializer(KnownKeysSerializer):
    """The passphrase that the file is encrypted with, and what may be deleted because it isn't in the file."""

    passphrase = serializers.CharField(
        max_length=1000,
        trim_whitespace=False,
        write_only=True,
        help_text="At least 12 characters. It is deleted once the file is written.",
    )
    without_releases = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Delete releases that aren't in the file: unfinished ones, and those of reports on several studies.",
    )
    without_shared_reports = serializers.BooleanField(
        required=False, default=False, help_text="Delete the reports on this study together with others."
    )


class BringBackSerializer(KnownKeysSerializer):
    """The key that the study was kept with; the file, if the installation has no copy; another short name, if the old one is taken."""

    passphrase = serializers.CharField(max_length=1000, trim_whitespace=False, required=False, default="")
    key_file = serializers.FileField(required=False, default=None)
    file = serializers.FileField(required=False, default=None)
    slug = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)
    as_template = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Make a new draft with the study's material, texts, exam and plan, without its people and judgments. The study stays in the file.",
    )


class KeptStudySerializer(serializers.ModelSerializer):
    """A study that is in a file."""

    stored = serializers.SerializerMethodField(help_text="Whether the installation has a copy of the file.")
    workspace_name = serializers.CharField(source="workspace.name")

    class Meta:
        model = KeptStudy
        fields = (
            "id", "slug", "title", "workspace", "workspace_name", "stored", "sha256", "bytes", "passphrase", "people", "rows", "kept_at",
        )  # fmt: skip
        read_only_fields = fields

    def get_stored(self, kept: KeptStudy) -> bool:
        return bool(kept.file)


class KeptJobSerializer(serializers.ModelSerializer):
    """A background job that keeps a study in a file, brings it back, or makes a draft like it."""

    class Meta:
        model = KeptJob
        fields = (
            "id", "kind", "slug", "kept", "state", "progress", "error", "created_at", "started_at", "finished_at",
        )  # fmt: skip
        read_only_fields = fields


def _started(start: Callable[[], KeptJob]) -> Response:
    try:
        job = start()
    except ValidationError as error:
        raise serializers.ValidationError(serializers.as_serializer_error(error)) from None
    return Response(KeptJobSerializer(job).data, status=status.HTTP_202_ACCEPTED)


class StudyKeep(APIView):
    """Keep a study in a file."""

    read_scope = "may_see_people"

    @extend_schema(
        request=KeepSerializer, responses={202: KeptJobSerializer}, operation_id="kept_studies_keep"
    )
    def post(self, request: Request, study: str) -> Response:
        """Write an archived study with its people to an encrypted file and remove it; a background job does it. For owners of the workspace."""
        found = keepable_study_get_for(user=request.user, pk=study)
        sent = KeepSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        return _started(lambda: keep_request(study=found, by=user_of(request), **sent.validated_data))


class KeptStudies(APIView):
    """Studies in files."""

    @extend_schema(responses=KeptStudySerializer(many=True), operation_id="kept_studies_list")
    def get(self, request: Request) -> Response:
        """The studies that are in files, of the workspaces that you own, newest first (at most 1,000)."""
        return Response(KeptStudySerializer(kept_studies_for(user=request.user)[:MOST], many=True).data)


class KeptStudyDetail(APIView):
    """One study in a file."""

    @extend_schema(responses=KeptStudySerializer, operation_id="kept_studies_read")
    def get(self, request: Request, pk: int) -> Response:
        """What is known of the study and its file."""
        return Response(KeptStudySerializer(kept_study_get_for(user=request.user, pk=pk)).data)


class KeptStudyDownload(APIView):
    """The file of a study."""

    read_scope = "may_see_people"

    @extend_schema(responses={200: OpenApiTypes.BINARY}, operation_id="kept_studies_download")
    def get(self, request: Request, pk: int) -> FileResponse:
        """The encrypted file; 404 if the installation has no copy."""
        kept = kept_study_get_for(user=request.user, pk=pk)
        return download_send(kept_study_download(kept, by=user_of(request)))


class KeptStudyFile(APIView):
    """The installation's copy of the file of a study that is back."""

    @extend_schema(responses={204: None}, operation_id="kept_studies_delete_file")
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the file of a study that was brought back; 404 while the study is only in it."""
        kept_file_delete(kept_study_back_get_for(user=request.user, pk=pk), by=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class KeptStudyBringBack(APIView):
    """Bring a study back from its file."""

    parser_classes = [JSONParser, MultiPartParser]
    read_scope = "may_see_people"

    @extend_schema(
        request={"application/json": BringBackSerializer, "multipart/form-data": BringBackSerializer},
        responses={202: KeptJobSerializer},
        operation_id="kept_studies_bring_back",
    )
    def post(self, request: Request, pk: int) -> Response:
        """Make the study again, archived as it was, or a draft like it, from the uploaded file or the installation's copy; a background job does it."""
        kept = kept_study_get_for(user=request.user, pk=pk)
        sent = BringBackSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        values: dict[str, Any] = sent.validated_data
        return _started(lambda: bring_back_request(kept=kept, by=user_of(request), **values))


class KeptJobDetail(APIView):
    """A job on a study in a file."""

    @extend_schema(responses=KeptJobSerializer, operation_id="kept_studies_job")
    def get(self, request: Request, pk: int) -> Response:
        """The state of the job."""
        return Response(KeptJobSerializer(kept_job_get_for(user=request.user, pk=pk)).data)
