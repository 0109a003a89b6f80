"""Payments through the study's panel, and top-ups, over the API."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import REVIEWER, people_shown, person, study_of
from annotator.api.payments import amount as money
from annotator.api.studies import ERRORS
from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import PayBatch, PayPart, Study
from annotator.selectors.panel_connection import may_spend
from annotator.selectors.pay_batch import pay_batch_open, pay_batches, pay_proposal
from annotator.selectors.top_up import top_up_of
from annotator.services.audit import people_viewed
from annotator.services.pay_batch import pay_batch_cancel, pay_batch_make, pay_batch_send, pay_batch_settle
from annotator.services.top_up import top_up_give


class PaymentSerializer(serializers.Serializer[Any]):
    rater = serializers.IntegerField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=PayPart.Kind.choices)
    amount = money()
    credit = money(help_text="The part of a fixed reward above what the person earned by their work.")


class LeftOutSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    why = serializers.CharField()
    amount = money()


class PayPartSerializer(serializers.ModelSerializer[PayPart]):
    people = serializers.IntegerField(read_only=True)
    amount = serializers.DecimalField(max_digits=14, decimal_places=2, read_only=True)

    class Meta:
        model = PayPart
        fields = ("number", "kind", "people", "amount", "cost", "state", "sent_at")
        read_only_fields = fields


class PayBatchSerializer(serializers.ModelSerializer[PayBatch]):
    parts = PayPartSerializer(many=True, read_only=True)

    class Meta:
        model = PayBatch
        fields = ("key", "currency", "created_at", "finished_at", "fault", "retry_at", "parts")
        read_only_fields = fields


class PayProposalSerializer(serializers.Serializer[Any]):
    currency = serializers.CharField()
    fault = serializers.CharField(help_text="Why nothing can be paid; empty if something can.")
    digest = serializers.CharField(help_text="Send it with the batch: it confirms who gets what.")
    total = money(help_text="Without the panel's fees.")
    payments = PaymentSerializer(many=True)
    left_out = LeftOutSerializer(many=True)
    batches = PayBatchSerializer(many=True)


class PayBatchAskedSerializer(KnownKeysSerializer):
    key = serializers.CharField(
        max_length=64,
        help_text="8 to 64 characters, new for each batch. Sent again, it continues the same batch.",
    )
    digest = serializers.CharField(max_length=64, help_text="Of the proposal.")


class PaySettleSerializer(KnownKeysSerializer):
    key = serializers.CharField(max_length=64)
    outcome = serializers.ChoiceField(
        choices=["paid", "unpaid", "cancel"],
        help_text="What the panel shows of the part whose reply was lost; or `cancel` what wasn't sent.",
    )


class TopUpAmountSerializer(serializers.Serializer[Any]):
    rater = serializers.IntegerField()
    name = serializers.CharField()
    amount = money()


class TopUpSerializer(serializers.Serializer[Any]):
    currency = serializers.CharField()
    floor = money(help_text="The study's minimum pay per hour.")
    per_hour = money(
        allow_null=True, help_text="The median over `people`; null if it's undefined, and `why` says why."
    )
    people = serializers.IntegerField()
    why = serializers.CharField()
    total = money(help_text="What the top-up costs, without a panel's fees.")
    amounts = TopUpAmountSerializer(many=True)


class TopUpAskedSerializer(KnownKeysSerializer):
    total = money(help_text="What the proposed top-up costs: it confirms it.")


def _spending(request: Request, study: Study) -> None:
    if not may_spend(user=request.user, study=study):
        raise Http404("not an editor of the workspace")


def _shown(study: Study, batch: PayBatch) -> Any:
    return PayBatchSerializer(pay_batches(study, pk=batch.pk)[0]).data


class PayPanel(APIView):
    """Payments through the panel's API."""

    read_scope = "may_see_people"

    @extend_schema(responses={200: PayProposalSerializer, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Who can be paid through the panel now, who can't and why, and the latest batches. Asks the panel nothing."""
        study = study_of(request, slug)
        people_viewed(by=person(request), page="payments", studies=[study])
        proposal = pay_proposal(study)
        names = ("currency", "fault", "digest", "total", "payments", "left_out")
        shown = {name: getattr(proposal, name) for name in names}
        return Response(PayProposalSerializer(shown | {"batches": pay_batches(study)}).data)

    @extend_schema(request=PayBatchAskedSerializer, responses={201: PayBatchSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Pay what was proposed: approve submissions and pay bonuses. With the key of a batch that failed half-way, continue it: nobody is
        paid twice. Needs the role of an editor of the workspace."""
        study = study_of(request, slug, REVIEWER)
        form = PayBatchAskedSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        _spending(request, study)
        batch = pay_batch_make(study=study, by=person(request), **form.validated_data)
        return Response(_shown(study, pay_batch_send(batch=batch)), status=status.HTTP_201_CREATED)


class PaySettle(APIView):
    """Settle a batch that isn't finished."""

    @extend_schema(request=PaySettleSerializer, responses={200: PayBatchSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Say whether the part whose reply was lost was paid, or cancel what wasn't sent. Needs the role of an editor of the workspace."""
        study = study_of(request, slug, REVIEWER)
        form = PaySettleSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        _spending(request, study)
        batch = pay_batch_open(study)
        if batch is None or batch.key != form.validated_data["key"]:
            raise ValidationError({"key": "No batch with this key is open."})
        outcome = form.validated_data["outcome"]
        if outcome == "cancel":
            pay_batch_cancel(batch=batch, by=person(request))
        else:
            pay_batch_settle(batch=batch, paid=outcome == "paid", by=person(request))
        return Response(_shown(study, batch))


class TopUps(APIView):
    """The top-up to the study's minimum pay per hour."""

    read_scope = "may_see_people"

    @extend_schema(responses={200: TopUpSerializer, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """The median pay per hour, and what everybody is due so that it reaches the minimum."""
        study = study_of(request, slug)
        people_viewed(by=person(request), page="payments", studies=[study])
        return Response(_top_up(top_up_of(study)))

    @extend_schema(request=TopUpAskedSerializer, responses={201: TopUpSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Give the top-up that costs `total`, once. Needs the role of a reviewer."""
        people_shown(request)
        study = study_of(request, slug, REVIEWER)
        form = TopUpAskedSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = top_up_give(study=study, total=form.validated_data["total"], by=person(request))
        return Response(_top_up(given), status=status.HTTP_201_CREATED)


def _top_up(found: Any) -> Any:
    names = ("currency", "floor", "per_hour", "people", "why", "total")
    rows = [{"rater": rater, "name": name, "amount": owed} for rater, name, owed in found.amounts]
    return TopUpSerializer({name: getattr(found, name) for name in names} | {"amounts": rows}).data
