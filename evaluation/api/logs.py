"""Files of what models and people answered, over the REST API."""

from __future__ import annotations

from django.http import FileResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from evaluation.api.runs import SLUG
from evaluation.selectors.run import run_get_for
from evaluation.services.call_files import calls_download
from evaluation.services.human_scores import human_scores_download
from evaluation.services.inspect_logs import run_log_download

LINES = "application/x-ndjson"
FORMATS = ("jsonl", "eval")


class RunCalls(APIView):
    """The calls of a run as a file."""

    read_scope = "may_see_people"  # a log has what people said about each item

    @extend_schema(
        parameters=[OpenApiParameter("as", str, enum=FORMATS, default="jsonl")],
        responses={
            (200, LINES): OpenApiTypes.BINARY,
            (200, "application/zip"): OpenApiTypes.BINARY,
            400: None,
        },
        operation_id="runs_calls",
    )
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """Every request and reply, without keys and addresses: ``jsonl`` as JSON lines, ``eval`` as a log of Inspect."""
        wanted = request.query_params.get("as", "jsonl")
        if wanted not in FORMATS:
            raise serializers.ValidationError({"as": f"Expected one of: {', '.join(FORMATS)}."})
        run = run_get_for(user=request.user, pk=pk)
        if wanted == "eval":
            log = run_log_download(run=run, by=user_of(request))
            return FileResponse(
                log, as_attachment=True, filename=f"run-{pk}.eval", content_type="application/zip"
            )
        response = StreamingHttpResponse(calls_download(run=run, by=user_of(request)), content_type=LINES)
        response["Content-Disposition"] = f'attachment; filename="run-{pk}-calls.jsonl"'
        return response


class HumanScores(APIView):
    """What people said about a study's items."""

    read_scope = "may_see_people"

    @extend_schema(
        parameters=[SLUG],
        responses={(200, LINES): OpenApiTypes.BINARY},
        operation_id="studies_human_scores",
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """The label that most people gave each item, as JSON lines in the form of Inspect's ``precomputed_scores()``."""
        study = study_get_for(user=request.user, slug=slug)
        lines = human_scores_download(study=study, by=user_of(request))
        response = StreamingHttpResponse(lines, content_type=LINES)
        response["Content-Disposition"] = f'attachment; filename="{study.slug}-scores.jsonl"'
        return response
