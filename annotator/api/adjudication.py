"""Adjudication over the API: the queue, an item as adjudicators see it, one's labels, what is decided, and gold made of it."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import REVIEWER, person, study_of
from annotator.api.items import MOST, item_of
from annotator.api.studies import ERRORS
from annotator.core.known_keys import KnownKeysSerializer
from annotator.core.service_errors import save_checked
from annotator.hit_types.base import FieldErrors
from annotator.models import Adjudication
from annotator.selectors.adjudication import (
    adjudicated_items,
    adjudication_queue,
    adjudicators_presentation,
    answers_counted,
    may_adjudicate,
)
from annotator.selectors.adjudication_order import ORDERS
from annotator.selectors.study import study_hit_type
from annotator.services.adjudication import (
    adjudicated_to_gold,
    adjudication_record,
    adjudication_undo,
)

#: Without more, a person who may still label the item would see what somebody else decided.
SETTLED = ("decided", "undecided")


class WaitingSerializer(serializers.Serializer[Any]):
    item = serializers.IntegerField(help_text="The item's id, not its key, which may name a system.")
    raters = serializers.IntegerField()
    answers = serializers.IntegerField(help_text="How many different ones.")
    bits = serializers.FloatField(help_text="The order's uncertainty; -1 where it knows nothing of the item.")
    tie = serializers.BooleanField(help_text="The first two adjudicators disagree.")


class QueueSerializer(serializers.Serializer[Any]):
    contested = serializers.IntegerField()
    decided = serializers.IntegerField()
    undecided = serializers.IntegerField(help_text="Three adjudicators gave three different labels.")
    mine = serializers.IntegerField(help_text="With a label of yours.")
    judged = serializers.IntegerField(help_text="With your answer as an annotator: others adjudicate them.")
    computing = serializers.BooleanField(
        help_text="A job still computes the order, so the items are ordered by entropy."
    )
    total = serializers.IntegerField(help_text="How many wait for you.")
    waiting = WaitingSerializer(many=True)


class _QueryCheck(KnownKeysSerializer):
    """The query of the queue; misspelt keys are refused."""

    order = serializers.ChoiceField(choices=(), default=next(iter(ORDERS)))
    limit = serializers.IntegerField(min_value=1, max_value=MOST, default=25)
    offset = serializers.IntegerField(min_value=0, max_value=10**9, default=0)

    def __init__(self, *args: Any, **about: Any) -> None:
        super().__init__(*args, **about)
        self.fields["order"].choices = list(ORDERS.items())  # once all applications have started


class AdjudicationQueueView(APIView):
    """The contested items that wait for an adjudicator."""

    read_scope = "may_see_people"

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "order", str, enum=["entropy", "posterior"], description="`entropy` by default."
            ),
            OpenApiParameter("limit", int, description=f"From 1 to {MOST}; 25 by default."),
            OpenApiParameter("offset", int, description="How many to pass over."),
        ],
        responses={200: QueueSerializer, **ERRORS},
        operation_id="adjudication_queue",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Those that you may label, the most uncertain first. Needs the role of a reviewer."""
        study = study_of(request, slug, REVIEWER)
        form = _QueryCheck(data=request.query_params)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        queue = adjudication_queue(study=study, user=person(request), order=asked["order"])
        first = asked["offset"]
        counts = {
            name: getattr(queue, name) for name in ("contested", "decided", "undecided", "mine", "judged", "computing")
        }  # fmt: skip
        shown = queue.waiting[first : first + asked["limit"]]
        return Response(QueueSerializer(counts | {"total": len(queue.waiting), "waiting": shown}).data)


class GivenAnswerSerializer(serializers.Serializer[Any]):
    answers = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()), source="words", help_text="Pairs of question and answer."
    )  # fmt: skip
    people = serializers.IntegerField(help_text="How many gave it.")


class ShownSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    text = serializers.CharField()
    items = serializers.ListField(
        child=serializers.CharField(), help_text="Of a list, of options or of words."
    )
    format = serializers.CharField(help_text="text, markdown, code, table or image.")


class OptionSerializer(serializers.Serializer[Any]):
    value = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]


class QuestionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    options = OptionSerializer(many=True)


class ToAdjudicateSerializer(serializers.Serializer[Any]):
    item = serializers.IntegerField()
    why_not = serializers.CharField(help_text="Why you may not label it; empty if you may.")
    shown = ShownSerializer(many=True, help_text="The material of all stages, as annotators saw it.")
    questions = QuestionSerializer(many=True, help_text="The fields of a response.")
    answers = GivenAnswerSerializer(many=True, help_text="Of annotators, without names, the most common first.")  # fmt: skip


class LabelSerializer(KnownKeysSerializer):
    response = serializers.DictField(
        help_text="The answers of all stages, by the names of the task's fields."
    )


class AdjudicationSerializer(serializers.ModelSerializer[Adjudication]):
    round = serializers.IntegerField(help_text="1 for the two who label independently, 2 after a tie.")

    class Meta:
        model = Adjudication
        fields = ("id", "item", "adjudicator", "seat", "round", "response", "created_at")
        read_only_fields = fields


class ItemAdjudication(APIView):
    """A contested item, as adjudicators see it, and your label of it."""

    read_scope = "may_see_people"

    @extend_schema(responses={200: ToAdjudicateSerializer, **ERRORS}, operation_id="adjudication_read")
    def get(self, request: Request, pk: int) -> Response:
        """What annotators saw, and their answers without names. Other adjudicators' labels aren't in it. Needs the role of a reviewer."""
        item = item_of(request, pk, REVIEWER)
        kind = study_hit_type(item.study)
        stages = kind.stages(item.payload, adjudicators_presentation(item.study, kind, item))
        shown = {
            "item": item.pk, "why_not": may_adjudicate(item=item, user=person(request)),
            "shown": list({block.name: block for stage in stages for block in stage.blocks}.values()),
            "questions": list({field.name: field for stage in stages for field in stage.fields}.values()),
            "answers": answers_counted(study=item.study, item=item),
        }  # fmt: skip
        return Response(ToAdjudicateSerializer(shown).data)

    @extend_schema(
        request=LabelSerializer,
        responses={201: AdjudicationSerializer, **ERRORS},
        operation_id="adjudication_record",
    )
    def post(self, request: Request, pk: int) -> Response:
        """Label the item. The first two people label it independently, a third settles a tie. Needs the role of a reviewer."""
        item = item_of(request, pk, REVIEWER)
        form = LabelSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            made = adjudication_record(item=item, by=person(request), raw=form.validated_data["response"])
        except FieldErrors as error:
            raise serializers.ValidationError({name: [text] for name, text in error.errors.items()}) from None
        return Response(AdjudicationSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses={204: None, **ERRORS}, operation_id="adjudication_undo")
    def delete(self, request: Request, pk: int) -> Response:
        """Take your label back, within ten minutes and until somebody else labels the item. Needs the role of a reviewer."""
        item = item_of(request, pk, REVIEWER)
        mine = Adjudication.objects.filter(item=item, by=person(request), undone_at__isnull=True).first()
        if mine is None:
            raise ValidationError("You have no label of this item that could be taken back.")
        adjudication_undo(adjudication=mine, by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class GivenLabelSerializer(serializers.Serializer[Any]):
    adjudicator = serializers.IntegerField(help_text="Their number in the study.")
    seat = serializers.IntegerField(help_text="1 and 2: independently; 3: settled a tie.")
    response = serializers.DictField()


class AdjudicatedSerializer(serializers.Serializer[Any]):
    item = serializers.IntegerField(source="item.pk")
    key = serializers.CharField(source="item.key")
    state = serializers.CharField(help_text="open, tie, decided or undecided.")
    adjudicators = serializers.IntegerField()
    response = serializers.DictField(
        allow_null=True,
        help_text="What those who agree answered in the same way; null unless it's decided.",
    )
    labels = GivenLabelSerializer(
        many=True, help_text="Each adjudicator's; empty until the item is decided or has three different labels."
    )  # fmt: skip


class GoldSerializer(KnownKeysSerializer):
    slug = serializers.SlugField(max_length=80)
    title = serializers.CharField(max_length=200)


class GoldMadeSerializer(serializers.Serializer[Any]):
    slug = serializers.CharField(help_text="The new draft's.")
    items = serializers.IntegerField(help_text="How many of its items are gold.")


class AdjudicatedItems(APIView):
    """What adjudicators decided."""

    read_scope = "may_see_people"

    @extend_schema(
        responses={200: AdjudicatedSerializer(many=True), **ERRORS}, operation_id="adjudicated_list"
    )
    def get(self, request: Request, slug: str) -> Response:
        """All items with adjudications, in order of item. Needs the role of a reviewer."""
        study = study_of(request, slug, REVIEWER)
        rows = [
            {
                "item": adjudicated_item.item, "state": adjudicated_item.state, "adjudicators": len(adjudicated_item.given), "response": adjudicated_item.response,
                "labels": adjudicated_item.given if adjudicated_item.state in SETTLED else (),
            }
            for adjudicated_item in adjudicated_items(study=study)
        ]  # fmt: skip
        return Response(AdjudicatedSerializer(rows, many=True).data)

    @extend_schema(
        request=GoldSerializer, responses={201: GoldMadeSerializer, **ERRORS}, operation_id="adjudicated_gold"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Copy the study into a new draft in which the decided items are gold items. Needs the role of a reviewer."""
        study = study_of(request, slug, REVIEWER)
        form = GoldSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        copy, items = save_checked(
            lambda: adjudicated_to_gold(study=study, by=person(request), **form.validated_data)
        )
        return Response(GoldMadeSerializer({"slug": copy.slug, "items": items}).data, status=status.HTTP_201_CREATED)  # fmt: skip
