"""Where disagreement comes from, over the REST API: the figures of the page."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.core.known_keys import KnownKeysSerializer
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from annotator.services.audit import people_viewed
from evaluation.api.reports import STUDY
from evaluation.reports.kept import disagreement_kept


class ContributionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    item = serializers.IntegerField(allow_null=True, help_text="The item's id; null for other groups.")
    ratings = serializers.IntegerField()
    share_of_disagreement = serializers.FloatField(allow_null=True)
    share_of_ratings = serializers.FloatField(allow_null=True)
    relative = serializers.FloatField(
        allow_null=True, help_text="The first share divided by the second: 1 is as much as all ratings."
    )
    contribution = serializers.FloatField(
        allow_null=True, help_text="To one minus the coefficient; those of a table add up to it."
    )
    without = serializers.FloatField(allow_null=True, help_text="The coefficient without these ratings.")
    reason = serializers.CharField(help_text="Why `without` is null; empty if it isn't.")


class DisagreementTableSerializer(serializers.Serializer[Any]):
    by = serializers.CharField(help_text="system, kind, rater or item.")
    all = serializers.IntegerField(help_text="How many groups there are; at most 10,000 are listed.")
    rows = ContributionSerializer(many=True)


class CoefficientSerializer(serializers.Serializer[Any]):
    title = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(help_text="Why it isn't defined; empty if it is.")
    n = serializers.IntegerField(help_text="Ratings that can be compared; with a simulator, pairs of labels.")


class DisagreementSerializer(serializers.Serializer[Any]):
    ready = serializers.BooleanField(
        help_text="False while a job computes it, for a large study; ask again in a minute."
    )
    variable = serializers.CharField(help_text="Empty if nobody has judged.")
    simulator = serializers.CharField(help_text="Empty for people among each other.")
    coefficient = CoefficientSerializer(allow_null=True)
    tables = DisagreementTableSerializer(many=True, help_text="The most disagreement first.")


class _DisagreementQuery(KnownKeysSerializer):
    """The query; misspelt keys are refused."""

    variable = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    simulator = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    rehearsal = serializers.BooleanField(required=False, default=False)


class StudyDisagreement(APIView):
    """What a study's low agreement comes from. Its tables name raters."""

    read_scope = "may_see_people"

    @extend_schema(
        parameters=[
            STUDY,
            OpenApiParameter("variable", str, description="What was asked; the headline by default."),
            OpenApiParameter("simulator", str, description="For people with this simulator."),
            OpenApiParameter("rehearsal", bool, description="Of the rehearsal's raters."),
        ],
        responses=DisagreementSerializer,
        operation_id="disagreement_read",
    )
    def get(self, request: Request, study: str) -> Response:
        """What systems, kinds of follow-up, raters and items contribute to one minus alpha, or kappa with a simulator."""
        found = study_get_for(user=request.user, pk=study, sized=True)
        form = _DisagreementQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        people_viewed(by=user_of(request), page="disagreement", studies=[found])
        ready, content, _ = disagreement_kept(study=found, **form.validated_data)
        shown = content or {"variable": "", "simulator": "", "coefficient": None, "tables": {}}
        tables = [{"by": by} | table for by, table in shown["tables"].items()]
        return Response(DisagreementSerializer(shown | {"ready": ready, "tables": tables}).data)
