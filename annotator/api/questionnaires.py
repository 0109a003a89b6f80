"""The answers to a study's questionnaires over the API: as counts, and as a file."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import person, study_of
from annotator.api.studies import ERRORS
from annotator.selectors.questionnaire import LISTED, questionnaire_counts
from annotator.services.audit import people_viewed
from annotator.services.questionnaire_export import questionnaires_export

TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


class AnswerCountSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    count = serializers.IntegerField(help_text="People.")


class AnswersSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="As reports group and filter by it, after `rater:`.")
    title = serializers.CharField()
    answered = serializers.IntegerField(help_text="People who have a value, of those who were `asked`.")
    values = AnswerCountSerializer(many=True, help_text=f"The {LISTED} most frequent ones.")
    distinct = serializers.IntegerField(help_text="Different values.")
    least = serializers.FloatField(allow_null=True, help_text="Null unless all values are numbers.")
    middle = serializers.FloatField(allow_null=True, help_text="The median.")
    most = serializers.FloatField(allow_null=True)


class QuestionnaireCountSerializer(serializers.Serializer[Any]):
    moment = serializers.CharField(help_text="`before` or `after` the tasks.")
    asked = serializers.IntegerField(help_text="People who submitted the page.")
    blank = serializers.IntegerField(help_text="Of these, without any answer.")
    attributes = AnswersSerializer(many=True)


class QuestionnairesSerializer(serializers.Serializer[Any]):
    moments = QuestionnaireCountSerializer(many=True)


class Questionnaires(APIView):
    """The answers to a study's questionnaires."""

    read_scope = "may_see_people"

    @extend_schema(
        responses={200: QuestionnairesSerializer, **ERRORS}, operation_id="questionnaires_retrieve"
    )
    def get(self, request: Request, slug: str) -> Response:
        """How many people gave each answer before and after the tasks; rehearsals don't count."""
        study = study_of(request, slug)
        people_viewed(by=person(request), page="questionnaires", studies=[study])
        return Response(QuestionnairesSerializer({"moments": questionnaire_counts(study=study)}).data)


class QuestionnaireAnswers(APIView):
    """Every answer to a study's questionnaires as one file, streamed."""

    read_scope = "may_see_people"

    @extend_schema(
        parameters=[OpenApiParameter("as", str, enum=list(TYPES), default="csv")],
        responses={
            (200, "text/csv"): OpenApiTypes.BINARY,
            (200, "application/x-ndjson"): OpenApiTypes.BINARY,
            **ERRORS,
        },
        operation_id="questionnaires_export",
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """One row for each person and question, with written answers; ``state`` is answered, blank, not_asked, or erased. Rehearsal raters are
        marked."""
        study, format = study_of(request, slug), request.query_params.get("as", "csv")
        chunks = questionnaires_export(study=study, format=format, by=person(request))
        response = StreamingHttpResponse(chunks, content_type=TYPES[format])
        response["Content-Disposition"] = f'attachment; filename="{study.slug}-questionnaires.{format}"'
        return response
