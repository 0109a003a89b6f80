"""Analysis plans over the REST API: the same services and the same access as the pages."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.models import Membership, Study
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from evaluation.api.reports import STUDY
from evaluation.planning.plan_document import PlanError
from evaluation.selectors.analysis_plan import plan_state
from evaluation.services.analysis_plan import plan_save, plan_seal


class PlanSerializer(serializers.Serializer):
    """A study's analysis plan as its file has it. ``sha256`` is the hash of the canonical JSON of the other three."""

    plan = serializers.JSONField(
        help_text="Hypotheses, options, exclusion rules, test, correction, stopping rule."
    )
    design = serializers.JSONField(
        help_text="Items, instances, systems and raters for each item; as they were when it was sealed."
    )
    sealed_at = serializers.DateTimeField(allow_null=True)
    sha256 = serializers.CharField(allow_null=True)
    markdown = serializers.CharField(help_text="The plan for OSF or AsPredicted.")


def _shown(study: Study) -> Response:
    state = plan_state(study=study)
    found = state.to_json()
    if found is None:
        raise Http404("no plan")
    return Response(found | {"markdown": state.markdown})


class StudyAnalysisPlan(APIView):
    """A study's analysis plan."""

    @extend_schema(parameters=[STUDY], responses=PlanSerializer, operation_id="plan_read")
    def get(self, request: Request, study: str) -> Response:
        """The plan; 404 if the study has none."""
        return _shown(study_get_for(user=request.user, pk=study))

    @extend_schema(
        parameters=[STUDY], request=OpenApiTypes.OBJECT, responses=PlanSerializer, operation_id="plan_save"
    )
    def put(self, request: Request, study: str) -> Response:
        """Store a plan in place of an earlier one. 400 names each wrong field; 409 if the plan is sealed."""
        found = study_get_for(user=request.user, pk=study, role=Membership.Role.EDITOR)
        try:
            plan_save(study=found, document=request.data, user=user_of(request))
        except PlanError as error:
            raise serializers.ValidationError({name: [text] for name, text in error.errors.items()}) from None
        return _shown(found)


class StudyPlanSeal(APIView):
    """The seal of a study's analysis plan."""

    @extend_schema(parameters=[STUDY], request=None, responses=PlanSerializer, operation_id="plan_seal")
    def post(self, request: Request, study: str) -> Response:
        """Seal the plan; 409 if it is sealed already, or if people have judged."""
        found = study_get_for(user=request.user, pk=study, role=Membership.Role.EDITOR)
        plan_seal(study=found, user=user_of(request))
        return _shown(found)
