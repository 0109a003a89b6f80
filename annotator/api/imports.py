"""Import of material and judgments over the API: a file in a form, or rows in the request's body."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from typing import IO, Any

from django.core.exceptions import RequestDataTooBig
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import EDITOR, study_of
from annotator.api.serializers import (
    DetailSerializer,
    ImportRefusedSerializer,
    JudgmentColumnsSerializer,
    JudgmentsImportedSerializer,
    JudgmentsImportSerializer,
    MaterialImportedSerializer,
    MaterialImportSerializer,
    texts_by_name,
)
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.material_import import material_import
from annotator.services.imports.readers import max_bytes

BODIES = {
    "text/csv": "body.csv",
    "text/tab-separated-values": "body.tsv",
    "application/x-ndjson": "body.jsonl",
    "application/jsonl": "body.jsonl",
    "application/vnd.apache.parquet": "body.parquet",
}
_IN_BODY = OpenApiTypes.BINARY
REPLIES = {400: ImportRefusedSerializer, 404: DetailSerializer, 413: DetailSerializer}


class RowsParser(BaseParser):
    """A request body of rows. Large ones are kept on disk, and too large ones refused as they arrive."""

    media_type = "text/csv"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Any = None
    ) -> Mapping[str, Any]:
        file = tempfile.SpooledTemporaryFile(max_size=1_000_000)  # noqa: SIM115 - closed with the request
        size = 0
        while chunk := stream.read(64 * 1024):
            size += len(chunk)
            if size > max_bytes():
                raise RequestDataTooBig(f"expected at most {max_bytes():,} bytes")
            file.write(chunk)
        file.seek(0)
        return {"body": file}


class TsvParser(RowsParser):
    media_type = "text/tab-separated-values"


class NdjsonParser(RowsParser):
    media_type = "application/x-ndjson"


class JsonlParser(RowsParser):
    media_type = "application/jsonl"


class ParquetParser(RowsParser):
    media_type = "application/vnd.apache.parquet"


class ImportView(APIView):
    """What the two imports share: permissions and the uploaded file."""

    parser_classes = [MultiPartParser, RowsParser, TsvParser, NdjsonParser, JsonlParser, ParquetParser]

    def sent(self, request: Request, *objects: str) -> tuple[IO[bytes] | None, str, dict[str, Any]]:
        """(file, its name, the other values). If the rows are the request's body, the other values are in the query,
        objects as JSON."""
        if int(request.META.get("CONTENT_LENGTH") or 0) > max_bytes() + 1_000_000:
            raise RequestDataTooBig(f"expected at most {max_bytes():,} bytes")
        data: Any = request.data
        body = data.get("body")
        if body is not None and not isinstance(body, str):
            media = (request.content_type or "").partition(";")[0].strip().lower()
            values: dict[str, Any] = {"dry_run": request.query_params.get("dry_run", "false")}
            for name in objects:
                if name in request.query_params:
                    values[name] = from_json(name, request.query_params[name])
            return body, BODIES[media], values
        return None, "", data


def from_json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise serializers.ValidationError({name: ["is not JSON"]}) from None


class MaterialImport(ImportView):
    """Research material: each row becomes an item of a draft."""

    @extend_schema(
        request={"multipart/form-data": MaterialImportSerializer, **dict.fromkeys(BODIES, _IN_BODY)},
        parameters=[
            OpenApiParameter("mapping", str, description="JSON; for a body of rows"),
            OpenApiParameter("constants", str, description="JSON; for a body of rows"),
            OpenApiParameter("dry_run", bool, description="for a body of rows"),
        ],
        responses={201: MaterialImportedSerializer, 200: MaterialImportedSerializer, **REPLIES},
    )
    def post(self, request: Request, slug: str) -> Response:
        """All rows or none. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        file, name, values = self.sent(request, "mapping", "constants")
        form = MaterialImportSerializer(data=values)
        if file is not None:
            form.fields.pop("file")
        form.is_valid(raise_exception=True)
        data = form.validated_data
        upload = file if file is not None else data["file"]
        result = material_import(
            study=study,
            file=upload,
            name=name or upload.name,
            mapping=texts_by_name(data.get("mapping") or {}),
            constants=texts_by_name(data.get("constants") or {}),
            dry_run=data["dry_run"],
        )
        made = status.HTTP_200_OK if result.dry_run else status.HTTP_201_CREATED
        return Response(result.as_json(), status=made)


class JudgmentsImport(ImportView):
    """Judgments that were collected elsewhere."""

    @extend_schema(
        request={"multipart/form-data": JudgmentsImportSerializer, **dict.fromkeys(BODIES, _IN_BODY)},
        parameters=[
            OpenApiParameter("columns", str, description="JSON; for a body of rows"),
            OpenApiParameter("dry_run", bool, description="for a body of rows"),
        ],
        responses={201: JudgmentsImportedSerializer, 200: JudgmentsImportedSerializer, **REPLIES},
    )
    def post(self, request: Request, slug: str) -> Response:
        """All rows or none. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        file, name, values = self.sent(request, "columns")
        form = JudgmentsImportSerializer(data=values)
        if file is not None:
            form.fields.pop("file")
        form.is_valid(raise_exception=True)
        if not isinstance(form.validated_data["columns"], dict):
            raise serializers.ValidationError({"columns": ["expected a JSON object"]})
        columns = JudgmentColumnsSerializer(data=form.validated_data["columns"])
        columns.is_valid(raise_exception=True)
        upload = file if file is not None else form.validated_data["file"]
        result = judgments_import(
            study=study,
            file=upload,
            name=name or upload.name,
            columns=columns.columns(),
            dry_run=form.validated_data["dry_run"],
        )
        made = status.HTTP_200_OK if result.dry_run else status.HTTP_201_CREATED
        return Response(result.as_json(), status=made)
