"""Large files over the API: uploads in pieces, and imports that a worker carries out."""

from __future__ import annotations

import tempfile
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import EDITOR, person, study_of
from annotator.api.import_serializers import (
    FileImportSerializer,
    ReceivedSerializer,
    UploadBegunSerializer,
    UploadSerializer,
)
from annotator.api.serializers import DetailSerializer, ImportRefusedSerializer
from annotator.models import FileImport
from annotator.selectors.user import sees_people
from annotator.services.imports.file_imports import file_import_cancel
from annotator.services.imports.pending_uploads import parked, upload_add, upload_begin
from annotator.services.imports.readers import max_bytes

REPLIES = {400: ImportRefusedSerializer, 404: DetailSerializer, 413: DetailSerializer}


class PieceParser(BaseParser):
    """The bytes of one piece, read by the view."""

    media_type = "application/octet-stream"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return {"piece": stream}


class Uploads(APIView):
    """A large file in pieces, so that a proxy's limit on bodies doesn't matter."""

    @extend_schema(request=UploadSerializer, responses={201: UploadBegunSerializer, **REPLIES})
    def post(self, request: Request, slug: str) -> Response:
        """Begin an upload. The reply contains its ticket, which the following requests need and which is valid for six hours."""
        study = study_of(request, slug, EDITOR)
        form = UploadSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        begun = upload_begin(study_pk=study.pk, user_pk=person(request).pk, name=form.validated_data["name"])
        reply = {"upload": begun.ticket, "piece_bytes": settings.IMPORT_PIECE_BYTES, "received": 0}
        return Response(reply, status=status.HTTP_201_CREATED)


class UploadPieces(APIView):
    parser_classes = [PieceParser]

    @extend_schema(
        request={"application/octet-stream": OpenApiTypes.BINARY},
        parameters=[
            OpenApiParameter("upload", str, required=True),
            OpenApiParameter("offset", int, required=True),
        ],
        responses={200: ReceivedSerializer, **REPLIES},
    )
    def put(self, request: Request, slug: str) -> Response:
        """Add the piece that begins at ``offset``. If there's no reply, send it again: it replaces the first copy."""
        study = study_of(request, slug, EDITOR)
        ticket, offset = request.query_params.get("upload", ""), request.query_params.get("offset", "")
        upload = parked(ticket=ticket, study_pk=study.pk, user_pk=person(request).pk)
        if upload is None:
            raise serializers.ValidationError({"upload": ["has expired, or isn't yours"]})
        if not offset.isdecimal() or len(offset) > 15:
            raise serializers.ValidationError({"offset": ["expected a whole number of bytes"]})
        with tempfile.TemporaryFile() as piece:
            size = 0
            sent: Any = request.data
            stream = sent.get("piece") if sent else None
            while stream is not None and (chunk := stream.read(64 * 1024)):
                size += len(chunk)
                if size > max_bytes():
                    raise RequestDataTooBig(f"expected at most {max_bytes():,} bytes")
                piece.write(chunk)
            try:
                received = upload_add(upload=upload, offset=int(offset), piece=piece, most=max_bytes())
            except ValueError as error:
                raise serializers.ValidationError({"offset": [str(error)]}) from None
        return Response({"received": received})


def file_import_get_for(*, request: Request, pk: int) -> FileImport:
    """An import into a study that the caller may edit; else not found."""
    file_import = get_object_or_404(FileImport.objects.select_related("study"), pk=pk)
    study_of(request, file_import.study.slug, EDITOR)
    return file_import


def _shown(file_import: FileImport, request: Request) -> dict[str, Any]:
    """An import; of judgments, a token that may not read participants' data gets no values of the file."""
    shown = dict(FileImportSerializer(file_import).data)
    if file_import.kind == FileImport.Kind.JUDGMENTS and not sees_people(request):
        shown |= {"problems": [], "result": {}, "error": ""}
    return shown


class FileImportDetail(APIView):
    @extend_schema(responses={200: FileImportSerializer, 404: DetailSerializer})
    def get(self, request: Request, pk: int) -> Response:
        """The progress of a large file's import, and its result."""
        return Response(_shown(file_import_get_for(request=request, pk=pk), request))


class FileImportCancel(APIView):
    @extend_schema(
        request=None, responses={202: FileImportSerializer, 404: DetailSerializer, 409: DetailSerializer}
    )
    def post(self, request: Request, pk: int) -> Response:
        """Cancel the import; nothing is stored."""
        file_import = file_import_get_for(request=request, pk=pk)
        if not file_import_cancel(file_import=file_import):
            return Response({"detail": f"It is {file_import.state}."}, status=status.HTTP_409_CONFLICT)
        file_import.refresh_from_db()
        return Response(_shown(file_import, request), status=status.HTTP_202_ACCEPTED)


class FileImportProblems(APIView):
    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.BINARY, 404: DetailSerializer})
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """Every problem of a refused file, up to 10,000, as CSV."""
        file_import = file_import_get_for(request=request, pk=pk)
        if file_import.kind == FileImport.Kind.JUDGMENTS and not sees_people(request):
            raise PermissionDenied("This token may not read participants' data. Create one with this scope.")
        if not file_import.problems_file:
            raise Http404("it has no problems")
        return FileResponse(default_storage.open(file_import.problems_file), content_type="text/csv")
