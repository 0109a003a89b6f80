"""What was written in a study, to read and search over the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import person, study_of
from annotator.api.studies import ERRORS
from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import Rater
from annotator.selectors.written_answers import LONGEST, sought_text, written_answers, written_questions
from annotator.services.audit import people_viewed


class WrittenAnswerSerializer(serializers.Serializer[Any]):
    judgment = serializers.IntegerField()
    item = serializers.CharField()
    rater = serializers.CharField()
    rater_kind = serializers.CharField()
    question = serializers.CharField(help_text="Its name in the response.")
    asked = serializers.CharField(help_text="The question.")
    text = serializers.CharField()
    excluded = serializers.CharField(help_text="Why it is left out; empty where it counts.")


class WrittenPageSerializer(serializers.Serializer[Any]):
    answers = WrittenAnswerSerializer(many=True)
    after = serializers.IntegerField(
        allow_null=True, help_text="The `after` of the next page, which may come after one without answers; null at the end."
    )  # fmt: skip


class WrittenAnswers(APIView):
    """The texts that answer questions of a study."""

    read_scope = "may_see_people"

    @extend_schema(
        parameters=[
            OpenApiParameter("q", str, description="Only texts that contain this, whatever the case."),
            OpenApiParameter("question", str, description="Only the answers to this question."),
            OpenApiParameter("by", str, enum=Rater.Kind.values, description="Only those of raters of this kind."),
            OpenApiParameter("after", int, description="As the page before says."),
        ],
        responses={200: WrittenPageSerializer, **ERRORS},
        operation_id="written_answers",
    )  # fmt: skip
    def get(self, request: Request, slug: str) -> Response:
        """In the order in which they were submitted, up to 50 judgments a page. Rehearsals are left out."""
        study = study_of(request, slug)
        form = _QuerySerializer(data=request.query_params)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        questions = written_questions(study)
        if asked["question"]:
            if asked["question"] not in questions:
                known = ", ".join(questions) or "none"
                raise ValidationError(
                    {"question": f"is no question that is answered in words; those are: {known}"}
                )
            questions = {asked["question"]: questions[asked["question"]]}
        people_viewed(by=person(request), page="written answers", studies=[study])
        page = written_answers(
            study=study,
            questions=questions,
            sought=sought_text(asked["q"]),
            by=asked["by"],
            after=asked["after"],
        )
        rows = [
            {
                "judgment": answer.judgment.pk, "item": answer.judgment.item.key, "rater": answer.judgment.rater.name,
                "rater_kind": answer.judgment.rater.kind, "question": answer.question, "asked": answer.asked, "text": answer.text,
                "excluded": answer.excluded,
            }
            for answer in page.answers
        ]  # fmt: skip
        return Response({"answers": rows, "after": page.after})


class _QuerySerializer(KnownKeysSerializer):
    """The query; misspelt names are refused."""

    q = serializers.CharField(required=False, default="", allow_blank=True, max_length=LONGEST)
    question = serializers.CharField(required=False, default="", allow_blank=True)
    by = serializers.ChoiceField(Rater.Kind.values, required=False, default="", allow_blank=True)
    after = serializers.IntegerField(min_value=0, max_value=2**63 - 1, default=0)
