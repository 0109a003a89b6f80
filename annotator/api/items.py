"""Single items over the API: edit and delete in a draft, correct and withdraw after the launch; contested items."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import EDITOR, VIEWER, person, study_of
from annotator.api.serializers import ItemSerializer
from annotator.api.studies import ERRORS
from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import Item
from annotator.selectors.contested import FILTERS, contested_items
from annotator.selectors.judgment import ExclusionReasons
from annotator.selectors.study import studies_for
from annotator.services.audit import people_viewed
from annotator.services.items import item_correct, item_delete, item_edit, item_withdraw

MOST = 100


class ItemContentSerializer(KnownKeysSerializer):
    payload = serializers.DictField(help_text="Everything that is shown, as in the list of items.")
    gold = serializers.DictField(
        required=False, default=None, allow_null=True, help_text="The correct response, if there is one."
    )


class CorrectionSerializer(ItemContentSerializer):
    reason = serializers.CharField(max_length=2_000, help_text="What was wrong; reports show it.")


class WithdrawalSerializer(KnownKeysSerializer):
    reason = serializers.CharField(max_length=2_000, help_text="Reports show it.")


class ItemDetail(APIView):
    """One item."""

    @extend_schema(responses={200: ItemSerializer, **ERRORS}, operation_id="items_retrieve")
    def get(self, request: Request, pk: int) -> Response:
        """The item with its correct response, if it has one."""
        return Response(ItemSerializer(item_of(request, pk, VIEWER)).data)

    @extend_schema(request=ItemContentSerializer, responses={200: ItemSerializer, **ERRORS})
    def put(self, request: Request, pk: int) -> Response:
        """Change an item of a draft. Needs the role of an editor."""
        item = item_of(request, pk, EDITOR)
        form = ItemContentSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(ItemSerializer(item_edit(item=item, **form.validated_data)).data)

    @extend_schema(request=None, responses={204: None, **ERRORS})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete an item of a draft. Needs the role of an editor."""
        item_delete(item=item_of(request, pk, EDITOR))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ItemCorrect(APIView):
    """Correct an item of a launched study."""

    @extend_schema(request=CorrectionSerializer, responses={201: ItemSerializer, **ERRORS})
    def post(self, request: Request, pk: int) -> Response:
        """The corrected version is given out instead; its problem reports are settled. Needs the role of an editor."""
        item = item_of(request, pk, EDITOR)
        form = CorrectionSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        corrected = item_correct(item=item, by=person(request), **form.validated_data)
        return Response(ItemSerializer(corrected).data, status=status.HTTP_201_CREATED)


class ItemWithdraw(APIView):
    """Withdraw an item of a launched study."""

    @extend_schema(request=WithdrawalSerializer, responses={200: ItemSerializer, **ERRORS})
    def post(self, request: Request, pk: int) -> Response:
        """It is no longer given out, and statistics leave it out. Needs the role of an editor."""
        item = item_of(request, pk, EDITOR)
        form = WithdrawalSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        item_withdraw(item=item, by=person(request), **form.validated_data)
        item.refresh_from_db()
        return Response(ItemSerializer(item).data)


def item_of(request: Request, pk: int, role: str) -> Item:
    """An item of a study in which the caller has this role; else not found."""
    found = Item.objects.select_related("study", "instance", "explanation__system")
    one = found.filter(pk=pk, study__in=studies_for(user=request.user, role=role)).first()
    if one is None:
        raise Http404("no such item")
    return one


class ContestedAnswerSerializer(serializers.Serializer[Any]):
    rater = serializers.CharField()
    rater_kind = serializers.CharField()
    response = serializers.DictField()
    excluded = serializers.CharField(help_text="Why it is left out; empty where it counts.")


class ContestedItemSerializer(serializers.Serializer[Any]):
    item = serializers.CharField()
    id = serializers.IntegerField()
    raters = serializers.IntegerField()
    answers = serializers.IntegerField(help_text="How many different ones.")
    entropy = serializers.FloatField(help_text="Of people's whole answers, in bits.")
    judgments = ContestedAnswerSerializer(many=True)


class ContestedItems(APIView):
    """The items that people disagree on."""

    read_scope = "may_see_people"

    @extend_schema(
        parameters=[
            *(OpenApiParameter(name, str, description="Only those; exact.") for name in FILTERS),
            OpenApiParameter("limit", int, description=f"From 1 to {MOST}; 25 by default."),
            OpenApiParameter("offset", int, description="How many to pass over."),
        ],
        responses={200: ContestedItemSerializer(many=True), **ERRORS},
        operation_id="contested_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        """The most divided items first, with all answers. Rehearsals are left out."""
        study = study_of(request, slug)
        form = _PageSerializer(data=request.query_params)
        form.is_valid(raise_exception=True)
        asked = dict(form.validated_data)
        limit, offset = asked.pop("limit"), asked.pop("offset")
        people_viewed(by=person(request), page="contested items", studies=[study])
        found = contested_items(study, filters=asked, limit=limit, offset=offset)
        reasons = ExclusionReasons(study)
        rows = [
            {
                "item": one.item.key, "id": one.item.pk, "raters": one.raters, "answers": one.answers, "entropy": one.entropy,
                "judgments": [
                    {
                        "rater": judgment.rater.name, "rater_kind": judgment.rater.kind, "response": judgment.response,
                        "excluded": reasons.of(judgment.pk, judgment.item_id, judgment.rater_id),
                    }
                    for judgment in one.judgments
                ],
            }
            for one in found
        ]  # fmt: skip
        return Response(ContestedItemSerializer(rows, many=True).data)


class _PageSerializer(KnownKeysSerializer):
    """The query of contested items; misspelt filters are refused."""

    limit = serializers.IntegerField(min_value=1, max_value=MOST, default=25)
    offset = serializers.IntegerField(min_value=0, max_value=10**9, default=0)
    system = serializers.CharField(required=False, default="", allow_blank=True)
    condition = serializers.CharField(required=False, default="", allow_blank=True)
    kind = serializers.CharField(required=False, default="", allow_blank=True)
    rater = serializers.CharField(required=False, default="", allow_blank=True)
