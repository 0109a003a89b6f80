"""The review desk over the API: submissions with their evidence, decisions, undoing, and messages to participants."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import REVIEWER, person, study_of
from annotator.api.payments import amount
from annotator.api.serializers import IDS
from annotator.api.studies import ERRORS
from annotator.core.jobs import enqueue
from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import ReviewDecision, Study
from annotator.selectors.message import AUDIENCES, audience_of
from annotator.selectors.review_desk import SHOWN, decide_fault, review_desk
from annotator.services.audit import people_viewed
from annotator.services.message_write import messages_write
from annotator.services.review_desk import batch_undo, decisions_hurry, decisions_make

RATERS = serializers.ListField(
    child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), help_text=IDS
)


class SignSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    words = serializers.CharField(help_text="With its numbers.")


class DecisionSerializer(serializers.ModelSerializer[ReviewDecision]):
    by = serializers.CharField(source="by.username", default=None, allow_null=True)

    class Meta:
        model = ReviewDecision
        fields = (
            "kind", "batch", "at_panel", "bonus", "text", "category", "term", "by", "created_at", "due_at", "done_at", "fault",
        )  # fmt: skip
        read_only_fields = fields


class SubmissionSerializer(serializers.Serializer[Any]):
    rater = serializers.IntegerField()
    name = serializers.CharField()
    state = serializers.CharField()
    panel_status = serializers.CharField(source="status", help_text="The panel's, empty if it has told none.")
    done = serializers.IntegerField(help_text="Judgments, late ones included.")
    accepted = serializers.IntegerField()
    seconds = serializers.FloatField(
        allow_null=True, help_text="On all tasks together; null if nothing was timed."
    )
    failed_exam = serializers.BooleanField()
    excluded = serializers.BooleanField()
    waits = serializers.BooleanField(help_text="Whether it needs a decision.")
    signs = SignSerializer(many=True, source="evidence.signs")
    decision = DecisionSerializer(allow_null=True, help_text="The one in force.")


class DecideSerializer(KnownKeysSerializer):
    raters = RATERS
    decision = serializers.ChoiceField(choices=ReviewDecision.Kind.choices)
    bonus = amount(required=False, help_text="For `accept`: in the study's currency, with a `text`.")
    text = serializers.CharField(
        required=False, default="", max_length=3_000, help_text="The reason, as participants read it."
    )
    category = serializers.CharField(
        required=False, default="", max_length=40, help_text="For `reject`: one of the panel's reasons, if its rules allow it."
    )  # fmt: skip
    term = serializers.CharField(
        required=False, default="", max_length=10_000, help_text="For `unpaid`: one of the conditions of the study's `unpaid_terms`."
    )  # fmt: skip


class BatchSerializer(KnownKeysSerializer):
    batch = serializers.UUIDField(help_text="Of the decisions that were made together.")


class DecidedSerializer(serializers.Serializer[Any]):
    decisions = serializers.IntegerField()
    batch = serializers.UUIDField(allow_null=True)


class WriteSerializer(KnownKeysSerializer):
    raters = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
        required=False,
        help_text=f"{IDS} Or `to`.",
    )
    to = serializers.ChoiceField(choices=list(AUDIENCES.items()), required=False)
    text = serializers.CharField(max_length=5_000)
    through_panel = serializers.BooleanField(
        required=False, default=False, help_text="Also through the panel that they came from."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("raters" in attrs) == ("to" in attrs):
            raise serializers.ValidationError({"to": ["Expected either raters or to."]})
        return attrs


class SentSerializer(serializers.Serializer[Any]):
    people = serializers.IntegerField()
    through_panel = serializers.IntegerField()
    already = serializers.IntegerField(help_text="Who got the same text a moment ago, and not again.")


def _allowed(request: Request, slug: str, *, at_panel: bool = True) -> Study:
    """The study, for a reviewer who may also use the panel's account if that is needed. Raises ``ValidationError``."""
    study = study_of(request, slug, REVIEWER)
    if at_panel and (fault := decide_fault(user=person(request), study=study)):
        raise ValidationError(fault)
    return study


class ReviewDesk(APIView):
    """Submissions and decisions about them."""

    read_scope = "may_see_people"

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "show", str, enum=list(SHOWN), description="Which list; those to decide by default."
            )
        ],
        responses={200: SubmissionSerializer(many=True), **ERRORS},
        operation_id="review_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        """The submissions, those with the most signs first. Signs decide nothing."""
        study = study_of(request, slug)
        show = request.query_params.get("show", "waiting")
        if show not in SHOWN:
            raise serializers.ValidationError({"show": [f"expected one of: {', '.join(SHOWN)}"]})
        people_viewed(by=person(request), page="review desk", studies=[study])
        return Response(SubmissionSerializer(review_desk(study).shown(show), many=True).data)

    @extend_schema(request=DecideSerializer, responses={201: DecidedSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Decide about submissions, all or none. Held for five minutes before anyone is told. Needs the role of a reviewer, and of an
        editor of the workspace if the panel is told."""
        study = _allowed(request, slug)
        form = DecideSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = dict(form.validated_data)
        made = decisions_make(study=study, by=person(request), kind=given.pop("decision"), **given)
        return Response({"decisions": len(made), "batch": made[0].batch}, status=status.HTTP_201_CREATED)


class ReviewUndo(APIView):
    """Undo decisions."""

    @extend_schema(request=BatchSerializer, responses={200: DecidedSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Undo decisions that were made together, if they are held, or a rejection that the panel lets take back."""
        study = _allowed(request, slug)
        form = BatchSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        batch = form.validated_data["batch"]
        return Response(
            {"decisions": batch_undo(study=study, batch=batch, by=person(request)), "batch": batch}
        )


class ReviewCarryOut(APIView):
    """Carry held decisions out."""

    @extend_schema(request=None, responses={200: DecidedSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Let every held decision of the study be carried out now, in the background; returns how many there are."""
        study = _allowed(request, slug)
        held = decisions_hurry(study=study)
        enqueue("annotator.review_decisions_carry_out", study_pk=study.pk)
        return Response({"decisions": held, "batch": None})


class MessagesWrite(APIView):
    """Write to participants first."""

    @extend_schema(request=WriteSerializer, responses={200: SentSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Send one text to `raters`, or to all of a group: `to`. Needs the role of a reviewer."""
        form = WriteSerializer(data=request.data)
        study = _allowed(request, slug, at_panel=False)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        if given["through_panel"]:
            _allowed(request, slug)
        raters = given.get("raters")
        sent = messages_write(
            study=study, raters=audience_of(study, given["to"]) if raters is None else raters, by=person(request), text=given["text"],
            through_panel=given["through_panel"],
        )  # fmt: skip
        return Response(SentSerializer(sent).data)
