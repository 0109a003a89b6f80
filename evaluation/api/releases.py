"""Anonymised releases over the REST API: the same services and the same access as the pages."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.models import Membership
from evaluation.models import Release
from evaluation.selectors.release import release_get_for, releases_of
from evaluation.selectors.report import report_get_for
from evaluation.services.release import release_create, release_delete, release_download


class NewReleaseSerializer(serializers.Serializer):
    """What the data card says, and which attributes of raters are released."""

    title = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    description = serializers.CharField(required=False, default="", allow_blank=True)
    licence = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    citation = serializers.CharField(required=False, default="", allow_blank=True)
    attributes = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        default=list,
        help_text="Names of raters' attributes, such as age. None by default.",
    )


class ReleaseSerializer(serializers.ModelSerializer):
    """A release and what was found when it was built."""

    notices = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Release
        fields = (
            "id",
            "report",
            "title",
            "description",
            "licence",
            "citation",
            "attributes",
            "state",
            "progress",
            "error",
            "findings",
            "notices",
            "bytes",
            "sha256",
            "created_at",
            "started_at",
            "finished_at",
        )
        read_only_fields = fields


class ReportReleases(APIView):
    """A report's releases."""

    @extend_schema(responses=ReleaseSerializer(many=True), operation_id="releases_list")
    def get(self, request: Request, pk: int) -> Response:
        """The releases of a report, newest first (at most 100)."""
        found = report_get_for(user=request.user, pk=pk)
        return Response(ReleaseSerializer(releases_of(report=found)[:100], many=True).data)

    @extend_schema(
        request=NewReleaseSerializer, responses={202: ReleaseSerializer}, operation_id="releases_create"
    )
    def post(self, request: Request, pk: int) -> Response:
        """Request an anonymised release of a finished report; a background job builds it."""
        found = report_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR)
        new = NewReleaseSerializer(data=request.data)
        new.is_valid(raise_exception=True)
        try:
            release = release_create(report=found, user=request.user, **new.validated_data)  # type: ignore[arg-type]
        except ValidationError as error:
            raise serializers.ValidationError(serializers.as_serializer_error(error)) from None
        return Response(ReleaseSerializer(release).data, status=status.HTTP_202_ACCEPTED)


class ReleaseDetail(APIView):
    """One release."""

    @extend_schema(responses=ReleaseSerializer, operation_id="releases_read")
    def get(self, request: Request, pk: int) -> Response:
        """The state of the release."""
        return Response(ReleaseSerializer(release_get_for(user=request.user, pk=pk)).data)

    @extend_schema(responses={204: None}, operation_id="releases_delete")
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the release with its file and its key."""
        release_delete(release=release_get_for(user=request.user, pk=pk, role=Membership.Role.EDITOR))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ReleaseDownload(APIView):
    """The archive of a release."""

    @extend_schema(responses={200: OpenApiTypes.BINARY}, operation_id="releases_download")
    def get(self, request: Request, pk: int) -> FileResponse:
        """The release as a ZIP archive; 404 until it is done."""
        return release_download(release_get_for(user=request.user, pk=pk))
