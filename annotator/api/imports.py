"""Import of material and judgments over the API: a file in a form, or rows in the request's body."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import IO, Any

from django.core.exceptions import RequestDataTooBig
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import BaseParser, JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import EDITOR, person, study_of
from annotator.api.import_serializers import (
    FileImportSerializer,
    JudgmentColumnsSerializer,
    JudgmentsImportedSerializer,
    JudgmentsImportSerializer,
    MaterialImportedSerializer,
    MaterialImportSerializer,
    texts_by_name,
)
from annotator.api.serializers import DetailSerializer, ImportRefusedSerializer
from annotator.models import FileImport, Study
from annotator.services.imports.file_imports import (
    file_import_request,
    in_background,
    judgments_options,
    material_options,
)
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.material_import import material_import
from annotator.services.imports.pending_uploads import Parked, park, parked, upload_end
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
    """A request body of rows, of one of the types in ``BODIES``. Large ones are stored on disk, and those over the limit refused while they arrive."""

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


class ImportView(APIView):
    """What the two imports share: permissions and the uploaded file."""

    parser_classes = [
        MultiPartParser,
        JSONParser,
        *(type("RowsParser", (RowsParser,), {"media_type": media}) for media in BODIES),
    ]

    def sent(self, request: Request, *objects: str) -> tuple[IO[bytes] | None, str, Mapping[str, Any]]:
        """(file, its name, the other values). If the rows are the request's body, the other values are in the query,
        objects as JSON."""
        if int(request.META.get("CONTENT_LENGTH") or 0) > max_bytes() + 1_000_000:
            raise RequestDataTooBig(f"expected at most {max_bytes():,} bytes")
        data: Any = request.data
        media = (request.content_type or "").partition(";")[0].strip().lower()
        if not isinstance(data, Mapping):
            raise serializers.ValidationError(
                {"detail": [f"expected an object; send rows as JSON lines ({', '.join(BODIES)})"]}
            )
        body = data.get("body")
        if media in BODIES and body is not None:
            values: dict[str, Any] = {"dry_run": request.query_params.get("dry_run", "false")}
            for name in objects:
                if name in request.query_params:
                    values[name] = from_json(name, request.query_params[name])
            return body, BODIES[media], values
        return None, "", data

    def carry_out(
        self,
        request: Request,
        study: Study,
        *,
        kind: str,
        source: IO[bytes] | None,
        name: str,
        data: Mapping[str, Any],
        options: Mapping[str, Any],
        run: Callable[..., Any],
    ) -> Response:
        """Import at once, or have a worker import a large file (202)."""
        by = person(request)
        waiting = None
        if ticket := data.get("upload"):
            waiting = parked(ticket=ticket, study_pk=study.pk, user_pk=by.pk)
            if waiting is None:
                raise serializers.ValidationError({"upload": ["has expired, or isn't yours"]})
            upload_whole(waiting, data["size"])
        elif source is None:
            raise serializers.ValidationError(
                {"file": ["send a file, a body of rows, or an upload with its size"]}
            )
        elif not data["dry_run"] and in_background(length(source)):
            waiting = park(study_pk=study.pk, user_pk=by.pk, file=source, name=name)
        if waiting is not None and not data["dry_run"] and in_background(waiting.size):
            job = file_import_request(study=study, by=by, kind=kind, waiting=waiting, options=options)
            return Response(FileImportSerializer(job).data, status=status.HTTP_202_ACCEPTED)
        if waiting is not None:
            with waiting.open() as file:
                result = run(study=study, file=file, name=waiting.name, dry_run=data["dry_run"])
            if not result.dry_run:
                waiting.discard()
        else:
            result = run(study=study, file=source, name=name, dry_run=data["dry_run"])
        made = status.HTTP_200_OK if result.dry_run else status.HTTP_201_CREATED
        return Response(result.as_json(), status=made)


def length(file: IO[bytes]) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size


def upload_whole(upload: Parked, size: int | None) -> None:
    """Join the pieces. Safe to call twice."""
    try:
        upload_end(upload=upload, size=size or 0)
    except ValueError as error:
        raise serializers.ValidationError({"upload": [str(error)]}) from None


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
            OpenApiParameter("attributes", str, description="JSON; for a body of rows"),
            OpenApiParameter("dry_run", bool, description="for a body of rows"),
        ],
        responses={
            201: MaterialImportedSerializer,
            200: MaterialImportedSerializer,
            202: FileImportSerializer,
            **REPLIES,
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """All rows or none. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        file, name, values = self.sent(request, "mapping", "constants", "attributes")
        form = MaterialImportSerializer(data=values)
        form.is_valid(raise_exception=True)
        data = form.validated_data
        upload = file if file is not None else data.get("file")
        chosen: dict[str, Any] = {
            "mapping": texts_by_name(data.get("mapping") or {}),
            "constants": texts_by_name(data.get("constants") or {}),
            "attributes": data.get("attributes") or [],
        }
        return self.carry_out(
            request,
            study,
            kind=FileImport.Kind.MATERIAL,
            source=upload,
            name=name or getattr(upload, "name", ""),
            data=data,
            options=material_options(**chosen),
            run=partial(material_import, **chosen),
        )


class JudgmentsImport(ImportView):
    """Judgments that were collected elsewhere."""

    @extend_schema(
        request={"multipart/form-data": JudgmentsImportSerializer, **dict.fromkeys(BODIES, _IN_BODY)},
        parameters=[
            OpenApiParameter("columns", str, description="JSON; for a body of rows"),
            OpenApiParameter("dry_run", bool, description="for a body of rows"),
        ],
        responses={
            201: JudgmentsImportedSerializer,
            200: JudgmentsImportedSerializer,
            202: FileImportSerializer,
            **REPLIES,
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """All rows or none. Needs the role of an editor."""
        study = study_of(request, slug, EDITOR)
        file, name, values = self.sent(request, "columns")
        form = JudgmentsImportSerializer(data=values)
        form.is_valid(raise_exception=True)
        data = form.validated_data
        if not isinstance(data["columns"], dict):
            raise serializers.ValidationError({"columns": ["expected a JSON object"]})
        columns = JudgmentColumnsSerializer(data=data["columns"])
        columns.is_valid(raise_exception=True)
        upload = file if file is not None else data.get("file")
        return self.carry_out(
            request,
            study,
            kind=FileImport.Kind.JUDGMENTS,
            source=upload,
            name=name or getattr(upload, "name", ""),
            data=data,
            options=judgments_options(columns.columns()),
            run=partial(judgments_import, columns=columns.columns()),
        )
