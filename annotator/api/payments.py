"""What participants are owed, over the API: accept work, give a bonus, record payments and undo the record."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.access import REVIEWER, person, study_of
from annotator.api.serializers import IDS
from annotator.api.studies import ERRORS
from annotator.core.known_keys import KnownKeysSerializer
from annotator.models import Rater
from annotator.selectors.owed import balances_of, totals_of
from annotator.services.audit import people_viewed
from annotator.services.payment import GIVEN, bonus_give, payments_record, payments_undo, work_accept


def amount(**kwargs: Any) -> serializers.DecimalField:
    """An amount of money, as text."""
    return serializers.DecimalField(max_digits=12, decimal_places=2, **kwargs)


class BalanceSerializer(serializers.Serializer[Any]):
    rater = serializers.IntegerField(help_text="The participant's id as a rater.")
    name = serializers.CharField()
    recruiter = serializers.CharField()
    recruiter_id = serializers.CharField(help_text="The participant's id at the panel.")
    state = serializers.CharField()
    done = serializers.IntegerField(help_text="Judgments, late ones included.")
    accepted = serializers.IntegerField()
    earned = serializers.FloatField(help_text="Accepted judgments, exam and bonuses.")
    waiting = serializers.FloatField(help_text="For judgments that aren't accepted yet.")
    paid = serializers.FloatField()
    payable = amount(help_text="What can be paid now, in whole cents.")


class PaymentTotalsSerializer(serializers.Serializer[Any]):
    done = serializers.IntegerField()
    accepted = serializers.IntegerField()
    waiting = serializers.FloatField()
    paid = serializers.FloatField()
    payable = amount()


class PaymentsSerializer(serializers.Serializer[Any]):
    currency = serializers.CharField()
    totals = PaymentTotalsSerializer()
    participants = BalanceSerializer(many=True)


class PaymentRecordSerializer(KnownKeysSerializer):
    reference = serializers.CharField(max_length=200, help_text="Of the transfer or batch.")
    amounts = serializers.DictField(
        child=amount(), help_text='{"17": "2.50"}: what was sent to each rater, which must be what is owed.'
    )


class RecordedSerializer(serializers.Serializer[Any]):
    participants = serializers.IntegerField()
    total = amount()


class WorkAcceptSerializer(KnownKeysSerializer):
    raters = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), required=False,
        help_text=f"{IDS} Everybody's work if it's left out.",
    )  # fmt: skip
    excluded = serializers.BooleanField(
        required=False, default=False, help_text="Accept the work of excluded people, too."
    )


class AcceptedSerializer(serializers.Serializer[Any]):
    judgments = serializers.IntegerField()


class PaymentUndoSerializer(KnownKeysSerializer):
    reference = serializers.CharField(max_length=200)


class UndoneSerializer(serializers.Serializer[Any]):
    participants = serializers.IntegerField()


class BonusSerializer(KnownKeysSerializer):
    rater = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    amount = amount()
    reason = serializers.CharField(max_length=2_000, help_text="The participant can read it.")
    kind = serializers.ChoiceField(
        choices=[one.value for one in GIVEN], required=False, default=GIVEN[0].value,
        help_text="`screen_out` pays the time of somebody who wasn't admitted to the tasks.",
    )  # fmt: skip


class Payments(APIView):
    """Each participant's balance, and payments."""

    read_scope = "may_see_people"

    @extend_schema(responses={200: PaymentsSerializer, **ERRORS}, operation_id="payments_retrieve")
    def get(self, request: Request, slug: str) -> Response:
        """What each participant has earned, been paid and is owed, and the sums."""
        study = study_of(request, slug)
        people_viewed(by=person(request), page="payments", studies=[study])
        balances = balances_of(study)
        found = {"currency": study.currency, "totals": totals_of(balances), "participants": balances}
        return Response(PaymentsSerializer(found).data)

    @extend_schema(request=PaymentRecordSerializer, responses={201: RecordedSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Record that participants were paid: all or none. Needs the role of a reviewer."""
        study = study_of(request, slug, REVIEWER)
        form = PaymentRecordSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        amounts = {_rater(name): one for name, one in form.validated_data["amounts"].items()}
        entries = payments_record(
            study=study, by=person(request), reference=form.validated_data["reference"], amounts=amounts
        )
        total = sum((entry.amount for entry in entries), Decimal(0))
        recorded = RecordedSerializer({"participants": len(entries), "total": total})
        return Response(recorded.data, status=status.HTTP_201_CREATED)


def _rater(name: str) -> int:
    if not name.isascii() or not name.isdecimal() or len(name) > 18:
        raise ValidationError({"amounts": f"“{name[:40]}” isn't the id of a rater."})
    return int(name)


class WorkAccept(APIView):
    """Accept submitted work."""

    @extend_schema(request=WorkAcceptSerializer, responses={200: AcceptedSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Accept what participants have submitted. Needs the role of a reviewer."""
        study = study_of(request, slug, REVIEWER)
        form = WorkAcceptSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        accepted = work_accept(study=study, by=person(request), **form.validated_data)
        return Response({"judgments": accepted})


class PaymentUndo(APIView):
    """Take back the record of a payment."""

    @extend_schema(request=PaymentUndoSerializer, responses={200: UndoneSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """The participants are owed the amounts again; the audit trail keeps them. Needs the role of a reviewer."""
        study = study_of(request, slug, REVIEWER)
        form = PaymentUndoSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        undone = payments_undo(study=study, by=person(request), **form.validated_data)
        return Response({"participants": undone})


class Bonus(APIView):
    """Give a bonus."""

    @extend_schema(request=BonusSerializer, responses={201: BonusSerializer, **ERRORS})
    def post(self, request: Request, slug: str) -> Response:
        """Give a participant a bonus. Needs the role of a reviewer."""
        study = study_of(request, slug, REVIEWER)
        form = BonusSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        rater = Rater.objects.filter(pk=given["rater"], participations__study=study).first()
        if rater is None:
            raise ValidationError({"rater": "No such participant in this study."})
        bonus_give(
            study=study,
            rater=rater,
            by=person(request),
            amount=given["amount"],
            reason=given["reason"],
            kind=given["kind"],
        )
        return Response(form.data, status=status.HTTP_201_CREATED)
